// What the caller says about one call, and learns about it.
#ifndef LOCKET_RPC_CLIENT_CONTEXT_H_
#define LOCKET_RPC_CLIENT_CONTEXT_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "locket/rpc/time_point.h"
#include "locket/transport/deadline.h"
#include "locket/transport/mutex.h"

namespace locket {

namespace internal {
class CallTie;
class CancelTarget;
}  // namespace internal

// One per call; it outlives the call and is not used again.
//
// Thread safety: TryCancel() may be called from any thread, at any time. Everything else belongs to
// the thread that makes the call: what is set, before it; what is read, after it.
class ClientContext {
 public:
  ClientContext();
  ~ClientContext();
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;

  // The call ends DEADLINE_EXCEEDED when this has passed, whatever it is waiting for. Takes what
  // TimePoint takes. A deadline in the past ends the call without sending it. Default: none.
  template <typename T>
  void set_deadline(const T& deadline) {
    const TimePoint<T> point(deadline);
    deadline_ = point.deadline();
    system_deadline_ = point.system_time();
  }

  // As set; time_point::max() if there is none.
  std::chrono::system_clock::time_point deadline() const { return system_deadline_; }

  // Ends the call CANCELLED, at once, and tells the server. Before the call: it is never sent.
  // After it: nothing. While this call is connecting the channel, it ends when that has been
  // decided.
  void TryCancel();

  // The target of the channel that the call was made on: "unix:/run/app.sock". "" before the call.
  std::string peer() const {
    return long_peer_ != nullptr ? *long_peer_ : std::string(peer_, peer_size_);
  }

  // For people, after a call that failed in the library or below: what happened between whom, with
  // all numbers. "" where the status came from the handler.
  std::string debug_error_string() const { return debug_error_string_; }

 private:
  friend class internal::CallTie;

  transport::Deadline deadline_ = transport::Deadline::Infinite();
  std::chrono::system_clock::time_point system_deadline_ =
      std::chrono::system_clock::time_point::max();
  // In place: no call allocates it, unless it is longer than an address can be.
  size_t peer_size_ = 0;
  char peer_[128];
  std::unique_ptr<const std::string> long_peer_;
  std::string debug_error_string_;

  // For TryCancel(), which runs beside the call: see internal/call_tie.h.
  std::atomic<bool> cancelled_{false};
  std::atomic<internal::CancelTarget*> call_{nullptr};
  transport::Mutex cancelling_;
};

}  // namespace locket

#endif  // LOCKET_RPC_CLIENT_CONTEXT_H_
