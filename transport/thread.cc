#include "locket/transport/thread.h"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <system_error>
#include <utility>

namespace locket::transport {

absl::StatusOr<std::thread> StartThread(const char* name, std::function<void()> body) {
  // The mask is inherited: no signal finds the thread in between.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  absl::StatusOr<std::thread> thread = absl::ResourceExhaustedError("");
  try {
    thread = std::thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      body();
    });
  } catch (const std::system_error& error) {
    thread = absl::ResourceExhaustedError(std::string("cannot start the thread ") + name + ": " +
                                          error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace locket::transport
