// One call on the client's side: its operations, what they fill, and who still needs it.
#ifndef LOCKET_RPC_INTERNAL_CLIENT_CALL_H_
#define LOCKET_RPC_INTERNAL_CLIENT_CALL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "locket/rpc/internal/buffer.h"
#include "locket/rpc/internal/call_outcome.h"
#include "locket/rpc/internal/call_tie.h"
#include "locket/rpc/internal/sender.h"
#include "locket/transport/mutex.h"

namespace locket::internal {

class ClientConnection;

// What a caller starts and waits for. Whoever makes an operation happen completes it; whoever waits
// for it does nothing else. So the synchronous form is a wait, and other forms attach themselves to
// Complete().
enum class Operation : uint8_t {
  kGetId,           // An id of the connection is free and belongs to the call.
  kReceiveMessage,  // The response is whole. (A unary caller waits for the status behind it.)
  kReceiveStatus,   // The call has ended. Always the last to complete.
};
inline constexpr size_t kOperations = 3;

//             Start()            Complete(), End()
//   kIdle ───────────> kPending ──────────────────> kDone
enum class Progress : uint8_t { kIdle, kPending, kDone };

// A call belongs to up to two parties: its *owner*, the thread that makes it, and its *slot*, the
// entry of the connection's table under its id, as long as frames for it may still come. It is used
// again when both have let go:
//
//   owner, no slot    the call waits for an id
//   owner and slot    from there until the owner leaves
//   slot, no owner    abandoned: the owner left before the FINISH; whatever still comes is dropped
//   neither           in the pool. Its last owner may still be parsing the response: in_use()
//
// Thread safety: the channel's lock guards everything, but for what says otherwise.
class ClientCall final : public CancelTarget, public RoomWaiter {
 public:
  static constexpr uint32_t kNoId = 0xffffffff;

  // Makes a call from the pool ready for a new owner.
  void Reset(ClientConnection& connection);

  // From the pool's Take() to the owner's Done(), its last word. release, acquire: the next owner
  // comes after it, though it may not have had the lock since.
  void Use() { in_use_.store(true, std::memory_order_relaxed); }  // relaxed: under the lock.
  void Done() { in_use_.store(false, std::memory_order_release); }
  bool in_use() const { return in_use_.load(std::memory_order_acquire); }

  // ---- Operations

  bool pending(Operation operation) const { return progress(operation) == Progress::kPending; }
  void Start(Operation operation) { progress(operation) = Progress::kPending; }
  void Complete(Operation operation);

  // The call has ended: completes whatever is pending. The first outcome stays.
  void End(CallOutcome&& how);
  bool ended() const { return progress(Operation::kReceiveStatus) == Progress::kDone; }

  // Guarded until ended(), the owner's after that.
  const CallOutcome& outcome() const { return outcome_; }
  CallOutcome& outcome() { return outcome_; }

  // ---- The response

  // Announces a message of `size` bytes. False if one is open: a violation.
  bool BeginMessage(uint32_t size);
  // More bytes than this are a violation.
  size_t open_bytes() const { return open_bytes_; }
  // `size` more bytes have come, and lie in `message` if they are kept.
  void TookBytes(size_t size);
  // Whether the bytes are wanted: nobody left early, and no outcome is there yet.
  bool keeps_message() const { return owned && !ended(); }
  bool first_message() const { return messages_ <= 1; }
  // Exactly one message has come, whole.
  bool has_one_message() const { return messages_ == 1 && open_bytes_ == 0; }

  // Written by the reader alone, without the lock where the piece is large (then `filling` is set);
  // the owner's once the call has ended well.
  Buffer message;
  bool filling = false;

  // ---- Cancellation

  // Any thread.
  void RequestCancel() override;
  bool cancel_requested() const { return cancel_requested_; }
  void SetCancelRequested();

  // For the sender of this call's own request: any thread, no lock.
  // acquire: pairs with [stop].
  bool GaveUp() override { return stop_sending_.load(std::memory_order_acquire); }
  void BeforeWait() override;
  int64_t slice_nanos() const override;

  // ---- Fields of the connection

  uint32_t id = kNoId;
  bool owned = false;
  bool finish_received = false;

  transport::CondVar wake;         // Where the owner sleeps when another thread reads.
  bool asleep = false;             // It does.
  ClientCall* previous = nullptr;  // Among those who sleep.
  ClientCall* next = nullptr;

  // Set by the owner, before the START can be seen; read by the reader, who takes no frame for a
  // call before: its owner may still leave without a word. release, acquire: not for more than
  // that.
  std::atomic<bool> start_sent{false};

  // ---- The owner's thread alone

  bool leads = false;  // It has had the reading role since NewCall().
  Buffer outgoing;     // A request that is sent in pieces.

 private:
  Progress progress(Operation operation) const { return progress_[static_cast<size_t>(operation)]; }
  Progress& progress(Operation operation) { return progress_[static_cast<size_t>(operation)]; }

  ClientConnection* connection_ = nullptr;
  std::atomic<bool> in_use_{false};
  std::array<Progress, kOperations> progress_{};
  CallOutcome outcome_;
  size_t open_bytes_ = 0;
  int messages_ = 0;
  bool cancel_requested_ = false;
  // Set, never cleared, by whoever ends or cancels the call; read by the owner without the lock.
  std::atomic<bool> stop_sending_{false};
};

// A doubly linked list of calls, first in first out, through their own links.
class ClientCallList {
 public:
  bool empty() const { return first_ == nullptr; }
  ClientCall* first() const { return first_; }
  void PushBack(ClientCall& call);
  void Remove(ClientCall& call);

 private:
  ClientCall* first_ = nullptr;
  ClientCall* last_ = nullptr;
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CLIENT_CALL_H_
