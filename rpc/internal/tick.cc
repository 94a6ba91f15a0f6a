#include "locket/rpc/internal/tick.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace locket::internal {

absl::StatusOr<std::unique_ptr<Tick>> Tick::Create() {
  const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  if (fd < 0) {
    return absl::ResourceExhaustedError(absl::StrCat("timerfd_create: ", strerror(errno)));
  }
  return std::unique_ptr<Tick>(new Tick(fd));
}

Tick::~Tick() { close(fd_); }

void Tick::Set(bool armed) {
  transport::MutexLock lock(mutex_);
  itimerspec time = {};
  if (armed) {
    time.it_value.tv_nsec = kNanos;
    time.it_interval.tv_nsec = kNanos;
  }
  armed_.store(armed, std::memory_order_seq_cst);  // Keeps (1) and (2).
  timerfd_settime(fd_, 0, &time, nullptr);
}

void Tick::Wait() {
  uint64_t expirations;
  // Ticks that nobody waited for count as one. An error (EINTR) is a tick too early.
  if (read(fd_, &expirations, sizeof(expirations)) < 0) return;
}

void Tick::Ring() {
  transport::MutexLock lock(mutex_);
  itimerspec time = {};
  time.it_value.tv_nsec = 1;
  time.it_interval.tv_nsec = kNanos;
  armed_.store(true, std::memory_order_seq_cst);
  timerfd_settime(fd_, 0, &time, nullptr);
}

}  // namespace locket::internal
