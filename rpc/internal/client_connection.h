// The client's end of a connection: its calls, who sends, who reads.
#ifndef LOCKET_RPC_INTERNAL_CLIENT_CONNECTION_H_
#define LOCKET_RPC_INTERNAL_CLIENT_CONNECTION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "locket/rpc/client_context.h"
#include "locket/rpc/internal/client_call.h"
#include "locket/rpc/internal/client_call_pool.h"
#include "locket/rpc/internal/frame.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/method_bindings.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/rpc/internal/sender.h"
#include "locket/rpc/internal/serialization.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/mutex.h"

namespace locket::internal {

// Limits of one channel, in bytes.
struct MessageLimits {
  int64_t receive = 4 * 1024 * 1024;
  int64_t send = INT64_MAX;
};

// A call goes through it like this, all on its owner's thread:
//
//   NewCall()  Await(kGetId)  SendRequest()  AwaitEnd()  Leave(), if AwaitEnd() has not
//
// Thread safety: all of it; each call is used by one owner. The lock is the channel's, as is the
// pool of calls: its connections follow each other, and NewCall() needs no lock of its own.
//
// Lifetime: counts its holds under the lock, one for who made it, until Drop(), and one for each
// call, until Leave(). The last one destroys it.
//
// Reading. No thread of its own reads the connection: of those who wait in Await(), one holds the
// *reading role* and files every record with the call it belongs to; the others sleep. Role, list
// of sleepers and calls are under one lock. A call with a small request takes the role in
// NewCall(), if it is free, and so begins to wait without the lock.
//
// Invariants:
// (1) Whoever gives up the role, or leaves Await() for any reason, wakes a sleeper if nobody reads
//     then (HandOn). So a sleeper that was woken for the role and leaves at once, because its own
//     deadline passed in the same instant, passes the waking on.
// (2) The role is never held by a thread that parses, waits for room in the ring, or serialises
//     more than a small request: those happen before or after.
// (3) connection_->interrupts() is read before a call's cancellation is checked, and the wait for a
//     record gets that value: a TryCancel() in between ends the wait, and so does an id that
//     another thread gives to the reader.
// (4) An id is free again when its call's owner has left, and its FINISH is filed or its START was
//     never sent (or the connection has ended). So nothing of the last use can come any more, and a
//     CANCEL of that use was sent before.
class ClientConnection {
 public:
  // Takes over an established connection. `mutex` and `pool` outlive it.
  static ClientConnection* Make(transport::Mutex& mutex, ClientCallPool& pool,
                                std::unique_ptr<transport::Connection> connection,
                                const Agreement& agreement, const MessageLimits& limits,
                                const std::string& target);
  void Drop() ABSL_LOCKS_EXCLUDED(mutex_);
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // False once new calls must go elsewhere: it has ended, or the server said GOAWAY.
  bool usable() const {
    // relaxed: no data hangs on it; a late look makes a call that is answered NOT_BEGUN.
    return !going_away_.load(std::memory_order_relaxed) && !connection_->closed();
  }

  // For the analysis, which does not know that the lock is the channel's.
  void AssertLocked() const ABSL_ASSERT_EXCLUSIVE_LOCK(mutex_) {}

  // A call for the calling thread, with all operations started, and a request of `size` bytes.
  // Without an id, if all are in use: Await(kGetId). If the connection has ended, so has the call.
  ClientCall& NewCall(size_t size, bool* has_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Sends the START of `call` with the whole of `request`, waiting for room if need be. Where that
  // fails, the call has ended, or Await() will end it for the same reason.
  void SendRequest(ClientCall& call, const RpcMethod& method, const Outgoing& request,
                   transport::Deadline deadline);

  // Returns when `operation` is done; ends the call if its deadline passes or it is cancelled.
  // False once the call has ended.
  bool Await(ClientCall& call, Operation operation, transport::Deadline deadline);

  // Returns when the call has ended, as Await(kReceiveStatus). True: unties the call from its
  // context, and leaves it too, under the same hold of the lock. (What the server sent is then the
  // owner's alone, until Done().) False: the server may still answer, or is a TryCancel() under
  // way.
  bool AwaitEnd(ClientCall& call, ClientContext& context, transport::Deadline deadline);

  // The owner is done with the call, and with the connection: it may be gone afterwards. If the
  // server may still work on the call, it is cancelled.
  void Leave(ClientCall& call);

  // Ends a call from another thread.
  void Cancel(ClientCall& call);

  // For a sender that waits for room: files what is there, if nobody else reads. The server may be
  // waiting for room in its ring.
  void ReadWithoutWaiting();

 private:
  struct Incoming {
    transport::Record record;
    Frame frame;
    Decoded decoded = Decoded::kSkip;
    std::string violation;
  };

  ClientConnection(transport::Mutex& mutex, ClientCallPool& pool,
                   std::unique_ptr<transport::Connection> connection, const Agreement& agreement,
                   const MessageLimits& limits, const std::string& target);
  ~ClientConnection();

  // client_connection.cc
  void UnlockAndDrop() ABSL_UNLOCK_FUNCTION(mutex_);
  void GiveId(ClientCall& call, uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FreeSlot(ClientCall& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndAllCalls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool PeerMayAnswer(const ClientCall& call) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // client_sending.cc
  void SendWhole(ClientCall& call, const RpcMethod& method, const Outgoing& request,
                 transport::Deadline deadline);
  void SendInPieces(ClientCall& call, const RpcMethod& method, const Outgoing& request,
                    transport::Deadline deadline);
  template <typename Write>
  SendResult SendStart(ClientCall& call, const RpcMethod& method, size_t message_size,
                       size_t first_piece, transport::Deadline deadline, const Write& write);
  void NotSent(ClientCall& call, SendResult why);

  // client_reading.cc
  void AwaitLocked(ClientCall& call, Operation operation, transport::Deadline deadline,
                   bool in_time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveUpRole(ClientCall& call) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Follow(ClientCall& call, transport::Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Lead(ClientCall& call, Operation operation, transport::Deadline deadline, uint32_t seen)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_);
  void HandOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  transport::ReadResult Receive(Incoming* incoming);
  void File(const Incoming& incoming) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FileMessage(ClientCall& call, const Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FileFinish(ClientCall& call, const Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeMessage(ClientCall& call, const Frame& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CheckNoOtherMessage(ClientCall& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Violation(const std::string& what);

  const std::unique_ptr<transport::Connection> connection_;
  const Agreement agreement_;
  const MessageLimits limits_;
  const std::string peer_;  // For people.

  Sender sender_;
  MethodBindings bindings_;  // Used within a Turn of sender_.
  // Set by the reader that finds a GOAWAY.
  std::atomic<bool> going_away_{false};

  transport::Mutex& mutex_;
  ClientCallPool& pool_;  // Used under the lock.
  int holds_ ABSL_GUARDED_BY(mutex_) = 1;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;  // Some thread holds the reading role.
  ClientCallList sleepers_ ABSL_GUARDED_BY(mutex_);
  // Calls that wait for an id, in turn. Not linked like sleepers_: a call may be in both.
  std::deque<ClientCall*> without_id_ ABSL_GUARDED_BY(mutex_);
  std::vector<ClientCall*> slots_ ABSL_GUARDED_BY(mutex_);  // By id; null where the id is free.
  std::vector<uint32_t> free_ids_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CLIENT_CONNECTION_H_
