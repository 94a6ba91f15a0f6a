// How the answer of a call gets into the ring.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "locket/rpc/internal/record_writing.h"
#include "locket/rpc/internal/serialization.h"
#include "locket/rpc/internal/server_connection.h"

namespace locket::internal {

using google::protobuf::MessageLite;
using transport::Deadline;

namespace {

// Longer texts are cut, as gRPC's limit on metadata would have them fail.
constexpr size_t kMaxText = 8192;

// For a FINISH: the client waits for it as long as it lives.
class UntilSent final : public RoomWaiter {
 public:
  bool GaveUp() override { return false; }
};

}  // namespace

// Sends the FINISH of a call, a record of `size` bytes that `build(uint8_t*)` writes, when there is
// room. Keeps (2).
template <typename Build>
void ServerConnection::SendLast(ServerCall& call, uint32_t id, size_t size, Deadline deadline,
                                const Build& build) {
  UntilSent waiter;
  Sender::Turn turn(sender_);
  uint8_t* out;
  while ((out = turn.Reserve(size)) == nullptr) {
    if (!call.IsOpen(id)) return;
    if (turn.WaitForRoom(size, deadline, waiter) != SendResult::kReady) return;
  }
  // Before the record is written: it would wait until the stores have reached the other side's
  // cache, and Commit() would wait again. If writing throws, the call is still to be answered.
  if (!call.Close(id)) return;
  absl::Cleanup not_sent = [&] { call.Open(id); };
  WriteRecord(out, size, build);
  std::move(not_sent).Cancel();
  turn.Commit(size);
}

void ServerConnection::SendFinishOk(ServerCall& call, const MessageLite& response, size_t size) {
  const FinishHeader header = MakeFinishOk(call.id(), size);
  SendLast(call, call.id(), sizeof(header) + size, Deadline::Infinite(), [&](uint8_t* out) {
    std::memcpy(out, &header, sizeof(header));
    WriteMessage(response, out + sizeof(header));
  });
}

void ServerConnection::SendFinish(ServerCall& call, uint32_t id, const Status& status,
                                  bool not_begun, Deadline deadline) {
  std::string text;
  std::string details;
  if (!status.ok()) {
    text = status.error_message();
    details = status.error_details();
  }
  const size_t room = sender_.max_record() - sizeof(FinishHeader);
  if (details.size() > room) details.clear();
  text.resize(std::min({text.size(), room - details.size(), kMaxText}));
  FinishHeader header = MakeFinish(id, status.error_code(), text.size(), details.size());
  if (not_begun) header.frame.flags |= kFlagNotBegun;
  const size_t size = sizeof(header) + text.size() + details.size();
  SendLast(call, id, size, deadline, [&](uint8_t* out) {
    std::memcpy(out, &header, sizeof(header));
    out += sizeof(header);
    std::memcpy(out, text.data(), text.size());
    std::memcpy(out + text.size(), details.data(), details.size());
  });
}

StatusCode ServerConnection::SendMessage(ServerCall& call, const MessageLite& response,
                                         size_t size) {
  Buffer serialised;
  uint8_t* bytes = serialised.Resize(size);
  if (bytes == nullptr) return StatusCode::RESOURCE_EXHAUSTED;
  WriteMessage(response, bytes);

  const MessageHeader header = MakeMessage(call.id(), size);
  const size_t first = std::min({size, kPieceSize, sender_.max_record() - sizeof(header)});
  const size_t record = sizeof(header) + first;
  {
    Sender::Turn turn(sender_);
    uint8_t* out = nullptr;
    while (out == nullptr) {
      // Keeps (3).
      if (call.GaveUp() || !call.IsOpen(call.id())) return StatusCode::CANCELLED;
      out = turn.Reserve(record);
      if (out != nullptr) break;
      const SendResult result = turn.WaitForRoom(record, call.deadline(), call);
      if (result != SendResult::kReady) return StatusCode::CANCELLED;
    }
    std::memcpy(out, &header, sizeof(header));
    std::memcpy(out + sizeof(header), bytes, first);
    turn.Commit(record);
  }
  const SendResult result =
      SendContinues(sender_, call.id(), bytes + first, size - first, call.deadline(), call,
                    [&] { return call.IsOpen(call.id()); });
  return result == SendResult::kReady ? StatusCode::OK : StatusCode::CANCELLED;
}

}  // namespace locket::internal
