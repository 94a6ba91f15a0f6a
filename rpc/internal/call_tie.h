// How a call and its ClientContext find each other.
#ifndef LOCKET_RPC_INTERNAL_CALL_TIE_H_
#define LOCKET_RPC_INTERNAL_CALL_TIE_H_

#include <cstring>
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
//
// TryCancel() on another thread meets the beginning and the end of the call without a lock in the
// call's way:
//
//   Tie()        call_ = call; cancelled_?
//   Untie()      call_ -> null, if it is still there
//   TryCancel()  cancelled_ = true; call_ -> null, if there is one, and cancel it
//
// Tie() and TryCancel() each write first and read then, all seq_cst: at least one of them sees the
// other, so no cancellation is lost. Whoever takes the call out of call_ has it: if that is
// TryCancel(), Untie() waits until it has finished with the call.
class CallTie {
 public:
  static transport::Deadline deadline(const ClientContext& context) { return context.deadline_; }

  static bool cancelled(const ClientContext& context) {
    return context.cancelled_.load(std::memory_order_seq_cst);
  }

  // From here to Untie(), TryCancel() reaches `call`. False if it was called before: the call must
  // not be sent. Untie() in each case.
  static bool Tie(ClientContext& context, CancelTarget& call) {
    context.call_.store(&call, std::memory_order_seq_cst);
    return !cancelled(context);
  }

  // False if a TryCancel() uses the call just now.
  static bool TryUntie(ClientContext& context, CancelTarget& call) {
    CancelTarget* expected = &call;
    return context.call_.compare_exchange_strong(expected, nullptr, std::memory_order_seq_cst);
  }

  // Returns once no TryCancel() uses the call any longer.
  static void Untie(ClientContext& context, CancelTarget& call) {
    if (!TryUntie(context, call)) transport::MutexLock wait(context.cancelling_);
  }

  static void Cancel(ClientContext& context) {
    transport::MutexLock lock(context.cancelling_);
    context.cancelled_.store(true, std::memory_order_seq_cst);
    CancelTarget* const call = context.call_.exchange(nullptr, std::memory_order_seq_cst);
    if (call != nullptr) call->RequestCancel();
  }

  static void SetPeer(ClientContext& context, const std::string& peer) {
    if (peer.size() > sizeof(context.peer_)) {
      context.long_peer_ = std::make_unique<const std::string>(peer);
    } else {
      context.peer_size_ = peer.size();
      std::memcpy(context.peer_, peer.data(), peer.size());
    }
  }
  static void SetDebugError(ClientContext& context, std::string text) {
    context.debug_error_string_ = std::move(text);
  }
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CALL_TIE_H_
