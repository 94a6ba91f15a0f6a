// How a call and its ClientContext find each other.
#ifndef LOCKET_RPC_INTERNAL_CALL_TIE_H_
#define LOCKET_RPC_INTERNAL_CALL_TIE_H_

#include <memory>
#include <string>
#include <utility>

#include "locket/rpc/client_context.h"

namespace locket::internal {

// What TryCancel() reaches.
class CancelTarget {
 public:
  // Any thread. Takes locks of the call's connection, never the context's.
  virtual void RequestCancel() = 0;

 protected:
  ~CancelTarget() = default;
};

// The only access that the library has to the private half of a ClientContext.
class CallTie {
 public:
  static transport::Deadline deadline(const ClientContext& context) { return context.deadline_; }

  static bool cancelled(ClientContext& context) {
    transport::MutexLock lock(context.mutex_);
    return context.cancelled_;
  }

  // From here to Untie(), TryCancel() reaches `call`. False if it was called before: the call must
  // not start.
  static bool Tie(ClientContext& context, CancelTarget& call) {
    transport::MutexLock lock(context.mutex_);
    if (context.cancelled_) return false;
    context.call_ = &call;
    return true;
  }

  // Returns once no TryCancel() uses the call any longer.
  static void Untie(ClientContext& context) {
    transport::MutexLock lock(context.mutex_);
    context.call_ = nullptr;
  }

  static void SetPeer(ClientContext& context, const std::shared_ptr<const std::string>& peer) {
    context.peer_ = peer;
  }
  static void SetDebugError(ClientContext& context, std::string text) {
    context.debug_error_string_ = std::move(text);
  }
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CALL_TIE_H_
