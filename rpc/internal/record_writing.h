// How a record is filled, and how a long message becomes several.
#ifndef LOCKET_RPC_INTERNAL_RECORD_WRITING_H_
#define LOCKET_RPC_INTERNAL_RECORD_WRITING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "locket/rpc/internal/frame.h"
#include "locket/rpc/internal/sender.h"
#include "locket/transport/deadline.h"

namespace locket::internal {

// Records up to this are built in private memory and copied in one go: the reader polls the line
// that they begin in, and every store into it while it does costs a cache miss (50 to 130 ns).
inline constexpr size_t kBuiltPrivately = 256;

// The most bytes of a message in one record. Smaller than the ring allows: pieces of several calls
// alternate, and the reader copies one while the writer fills the next.
inline constexpr size_t kPieceSize = 64 * 1024;

// Has `build(uint8_t*)` write a record of `size` bytes, and puts it at `out`.
template <typename Build>
void WriteRecord(uint8_t* out, size_t size, const Build& build) {
  if (size > kBuiltPrivately) {
    build(out);
    return;
  }
  uint8_t scratch[kBuiltPrivately];
  build(scratch);
  std::memcpy(out, scratch, size);
}

// Sends `size` bytes of the open message of a call as CONTINUE frames; the send lock is free
// between them. `may_go_on()` is asked under the send lock, before each. kGaveUp if it says no.
template <typename MayGoOn>
SendResult SendContinues(Sender& sender, uint32_t call_id, const uint8_t* bytes, size_t size,
                         transport::Deadline deadline, RoomWaiter& waiter,
                         const MayGoOn& may_go_on) {
  const FrameHeader header = MakeContinue(call_id);
  const size_t most = std::min(kPieceSize, sender.max_record() - sizeof(header));
  while (size > 0) {
    const size_t piece = std::min(size, most);
    const size_t record = sizeof(header) + piece;
    Sender::Turn turn(sender);
    uint8_t* out = nullptr;
    while (out == nullptr) {
      if (waiter.GaveUp() || !may_go_on()) return SendResult::kGaveUp;
      if (deadline.passed()) return SendResult::kDeadline;
      out = turn.Reserve(record);
      if (out != nullptr) break;
      const SendResult result = turn.WaitForRoom(record, deadline, waiter);
      if (result != SendResult::kReady) return result;
    }
    WriteRecord(out, record, [&](uint8_t* at) {
      std::memcpy(at, &header, sizeof(header));
      std::memcpy(at + sizeof(header), bytes, piece);
    });
    turn.Commit(record);
    bytes += piece;
    size -= piece;
  }
  return SendResult::kReady;
}

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_RECORD_WRITING_H_
