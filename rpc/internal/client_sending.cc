// How a request gets into the ring: in one record, or in pieces.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/client_connection.h"
#include "locket/rpc/internal/record_writing.h"
#include "locket/rpc/internal/serialization.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;

void ClientConnection::SendRequest(ClientCall& call, const RpcMethod& method,
                                   const Outgoing& request, Deadline deadline) {
  const size_t size = request.size;
  const int64_t limit = std::min<int64_t>(limits_.send, kMaxMessageSize);
  const size_t prefix = sizeof(StartHeader) + method.path().size();
  if (static_cast<int64_t>(size) > limit) {
    MutexLock lock(mutex_);
    call.End(MessageTooLarge("Sent", size, limit));
  } else if (prefix > sender_.max_record() || method.path().size() > UINT16_MAX) {
    MutexLock lock(mutex_);
    call.End(NameTooLong(method.path().size(), sender_.max_record()));
  } else if (size <= sender_.max_record() - prefix) {
    SendWhole(call, method, request, deadline);
  } else {
    SendInPieces(call, method, request, deadline);
  }
}

// Sends the START of a message of `message_size` bytes, `piece` of them written by `write`.
template <typename Write>
SendResult ClientConnection::SendStart(ClientCall& call, const RpcMethod& method,
                                       size_t message_size, size_t piece, Deadline deadline,
                                       const Write& write) {
  Sender::Turn turn(sender_);
  while (true) {
    // Cancelled or ended before the call was sent: the server need not hear of it.
    if (call.GaveUp()) return SendResult::kGaveUp;
    // What is bound may have changed while others had the lock.
    const MethodBindings::Use use = bindings_.Find(method);
    const size_t name_size = use.named ? method.path().size() : 0;
    const size_t size = sizeof(StartHeader) + name_size + piece;
    if (uint8_t* out = turn.Reserve(size)) {
      uint64_t timeout = 0;
      if (!deadline.infinite()) {
        timeout = static_cast<uint64_t>(deadline.nanos_left());
        if (timeout == 0) return SendResult::kDeadline;
      }
      const StartHeader header = MakeStart(call.id, use.number, name_size, message_size, timeout);
      WriteRecord(out, size, [&](uint8_t* at) {
        std::memcpy(at, &header, sizeof(header));
        at += sizeof(header);
        std::memcpy(at, method.path().data(), name_size);
        write(at + name_size);
      });
      bindings_.Sent(method, use);  // May throw, so first.
      call.start_sent.store(true, std::memory_order_release);
      turn.Commit(size);
      return SendResult::kReady;
    }
    GiveUpRole(call);  // Keeps (2). (The channel's lock within the send lock, never the reverse.)
    const SendResult result = turn.WaitForRoom(size, deadline, call);
    if (result != SendResult::kReady) return result;
  }
}

void ClientConnection::SendWhole(ClientCall& call, const RpcMethod& method, const Outgoing& request,
                                 Deadline deadline) {
  const SendResult result =
      SendStart(call, method, request.size, request.size, deadline,
                [&request](uint8_t* out) { WriteMessage(request.message, out); });
  if (result != SendResult::kReady) NotSent(call, result);
}

void ClientConnection::SendInPieces(ClientCall& call, const RpcMethod& method,
                                    const Outgoing& request, Deadline deadline) {
  GiveUpRole(call);  // Keeps (2).
  const size_t size = request.size;
  uint8_t* bytes = call.outgoing.Resize(size);
  if (bytes == nullptr) {
    MutexLock lock(mutex_);
    call.End(NoMemory("a request", size));
    return;
  }
  WriteMessage(request.message, bytes);

  const size_t room = sender_.max_record() - sizeof(StartHeader) - method.path().size();
  const size_t first = std::min({size, room, kPieceSize});
  const SendResult result =
      SendStart(call, method, size, first, deadline,
                [bytes, first](uint8_t* out) { std::memcpy(out, bytes, first); });
  if (result != SendResult::kReady) return NotSent(call, result);
  // Where this stops early, the call has ended, or Await() ends it; then Leave() sends the CANCEL
  // that drops what the server has of the message.
  SendContinues(sender_, call.id, bytes + first, size - first, deadline, call, [] { return true; });
}

// The START did not go out.
void ClientConnection::NotSent(ClientCall& call, SendResult why) {
  MutexLock lock(mutex_);
  if (why == SendResult::kDeadline) {
    call.End(DeadlineExceeded());
  } else if (why == SendResult::kClosed) {
    call.End(ConnectionEnded(connection_->status(), peer_));
  }
  // kGaveUp: it has ended already, or Await() sees that it was cancelled.
}

}  // namespace locket::internal
