// Frames as bytes: what PROTOCOL.md says stands in a record.
#ifndef LOCKET_RPC_INTERNAL_FRAME_H_
#define LOCKET_RPC_INTERNAL_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace locket::internal {

enum class FrameType : uint8_t {
  kStart = 1,
  kMessage = 2,
  kContinue = 3,
  kFinish = 4,
  kCancel = 5,
  kGoAway = 6,
  // 7 CREDIT and 8 RESET are reserved. From kFirstOptional on, unknown types are skipped.
  kFirstOptional = 128,
};

inline constexpr uint8_t kFlagMethodName = 1;
inline constexpr uint8_t kFlagMessage = 2;
inline constexpr uint8_t kFlagEnd = 4;
inline constexpr uint8_t kFlagNotBegun = 8;

inline constexpr uint32_t kUnboundMethod = 0xffffffff;

// ---- The fixed part of each type, as it lies in the record.

struct FrameHeader {
  FrameType type;
  uint8_t flags;
  uint16_t zero;
  uint32_t call_id;
};

struct StartHeader {
  FrameHeader frame;
  uint32_t method;
  uint32_t message_size;
  uint64_t timeout_ns;
  uint32_t metadata_size;
  uint16_t name_size;
  uint16_t zero;
};

struct MessageHeader {
  FrameHeader frame;
  uint32_t message_size;
  uint32_t zero;
};

struct FinishHeader {
  FrameHeader frame;
  int32_t code;
  uint32_t message_size;
  uint32_t text_size;
  uint32_t details_size;
  uint32_t metadata_size;
  uint32_t zero;
};

static_assert(sizeof(FrameHeader) == 8 && offsetof(FrameHeader, call_id) == 4);
static_assert(sizeof(StartHeader) == 32 && offsetof(StartHeader, timeout_ns) == 16);
static_assert(offsetof(StartHeader, name_size) == 28);
static_assert(sizeof(MessageHeader) == 16);
static_assert(sizeof(FinishHeader) == 32 && offsetof(FinishHeader, metadata_size) == 24);

// ---- Sending: the caller fills a header from one of these, and appends the bytes that it
// announces.

StartHeader MakeStart(uint32_t call_id, uint32_t method, size_t name_size, size_t message_size,
                      uint64_t timeout_ns);
MessageHeader MakeMessage(uint32_t call_id, size_t message_size);
FrameHeader MakeContinue(uint32_t call_id);
FinishHeader MakeFinish(uint32_t call_id, int code, size_t text_size, size_t details_size);
FinishHeader MakeFinishOk(uint32_t call_id, size_t message_size);
FrameHeader MakeCancel(uint32_t call_id);
FrameHeader MakeGoAway();

// ---- Receiving

// Bytes within a record: in shared memory, where a hostile peer may still change them. Copy first.
struct Bytes {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// A received frame: numbers that were copied before they were checked, and bytes that lie in the
// record and end within it. Fields that the type does not have are 0.
struct Frame {
  FrameType type = FrameType::kStart;
  uint8_t flags = 0;
  uint32_t call_id = 0;
  uint32_t method = 0;        // START
  uint64_t timeout_ns = 0;    // START
  int32_t code = 0;           // FINISH
  uint32_t message_size = 0;  // START, MESSAGE, FINISH: of the whole message.
  Bytes name;                 // START
  Bytes text;                 // FINISH
  Bytes details;              // FINISH
  Bytes message;              // START, MESSAGE, CONTINUE, FINISH: what of it is in this record.
};

enum class Decoded {
  kFrame,
  kSkip,       // An optional frame of a type that this version does not know.
  kViolation,  // *reason says of what.
};

// Reads the frame in a record of `size` bytes at `data`. Checks everything that can be checked
// without knowing the call: type, flags, zeros, and sizes against the record's.
Decoded DecodeFrame(const uint8_t* data, size_t size, Frame* frame, std::string* reason);

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_FRAME_H_
