// Threads of Locket inside other people's processes.
#ifndef LOCKET_TRANSPORT_THREAD_H_
#define LOCKET_TRANSPORT_THREAD_H_

#include <functional>
#include <thread>

#include "absl/status/statusor.h"

namespace locket::transport {

// Starts a thread that blocks all signals (a handler of the program runs on the program's own
// threads) and is named `name`: "locket-...", 15 characters at most. The caller joins or detaches
// it. RESOURCE_EXHAUSTED where the system has no thread to give. For the floors of Locket, not for
// users.
absl::StatusOr<std::thread> StartThread(const char* name, std::function<void()> body);

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_THREAD_H_
