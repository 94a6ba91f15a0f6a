#include "locket/rpc/internal/frame.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace locket::internal {
namespace {

FrameHeader MakeHeader(FrameType type, uint8_t flags, uint32_t call_id) {
  return {.type = type, .flags = flags, .zero = 0, .call_id = call_id};
}

Decoded Violation(std::string* reason, std::string text) {
  *reason = std::move(text);
  return Decoded::kViolation;
}

// Copies the fixed part of a frame out of shared memory, once; only the copy is looked at.
template <typename Header>
bool CopyHeader(const uint8_t* data, size_t size, Header* header) {
  if (size < sizeof(Header)) return false;
  std::memcpy(header, data, sizeof(Header));
  return true;
}

Decoded TooShort(const char* name, size_t size, std::string* reason) {
  return Violation(reason, absl::StrCat(name, " frame of ", size, " bytes is too short"));
}

Decoded BadFlags(const char* name, uint8_t flags, std::string* reason) {
  return Violation(reason, absl::StrCat(name, " frame with flags ", flags));
}

Decoded NotZero(const char* name, std::string* reason) {
  return Violation(reason, absl::StrCat(name, " frame whose reserved fields are not zero"));
}

// What is in this record of a message that has `whole` bytes.
Decoded TakeMessage(const char* name, const uint8_t* data, size_t size, size_t whole, Frame* frame,
                    std::string* reason) {
  if (size > whole) {
    return Violation(reason, absl::StrCat(name, " frame with ", size, " bytes of a message of ",
                                          whole, " bytes"));
  }
  frame->message = {data, size};
  return Decoded::kFrame;
}

Decoded DecodeStart(const uint8_t* data, size_t size, Frame* frame, std::string* reason) {
  constexpr const char* kName = "START";
  StartHeader header;
  if (!CopyHeader(data, size, &header)) return TooShort(kName, size, reason);
  const uint8_t flags = frame->flags;
  if ((flags & ~(kFlagMethodName | kFlagMessage | kFlagEnd)) != 0) {
    return BadFlags(kName, flags, reason);
  }
  if (header.metadata_size != 0 || header.zero != 0) return NotZero(kName, reason);
  const bool named = (flags & kFlagMethodName) != 0;
  size_t rest = size - sizeof(header);
  if (named != (header.name_size != 0) || header.name_size > rest) {
    return Violation(reason, absl::StrCat("START frame of ", size, " bytes with flags ", flags,
                                          " and a method name of ", header.name_size, " bytes"));
  }
  if ((flags & kFlagMessage) == 0 && header.message_size != 0) {
    return Violation(reason, "START frame with a message size but no message");
  }
  frame->method = header.method;
  frame->timeout_ns = header.timeout_ns;
  frame->message_size = header.message_size;
  frame->name = {data + sizeof(header), header.name_size};
  rest -= header.name_size;
  return TakeMessage(kName, data + sizeof(header) + header.name_size, rest, header.message_size,
                     frame, reason);
}

Decoded DecodeMessage(const uint8_t* data, size_t size, Frame* frame, std::string* reason) {
  constexpr const char* kName = "MESSAGE";
  MessageHeader header;
  if (!CopyHeader(data, size, &header)) return TooShort(kName, size, reason);
  if (frame->flags != 0) return BadFlags(kName, frame->flags, reason);
  if (header.zero != 0) return NotZero(kName, reason);
  frame->message_size = header.message_size;
  return TakeMessage(kName, data + sizeof(header), size - sizeof(header), header.message_size,
                     frame, reason);
}

Decoded DecodeContinue(const uint8_t* data, size_t size, Frame* frame, std::string* reason) {
  constexpr const char* kName = "CONTINUE";
  if (frame->flags != 0) return BadFlags(kName, frame->flags, reason);
  if (size == sizeof(FrameHeader)) return Violation(reason, "CONTINUE frame without a byte");
  frame->message = {data + sizeof(FrameHeader), size - sizeof(FrameHeader)};
  return Decoded::kFrame;
}

Decoded DecodeFinish(const uint8_t* data, size_t size, Frame* frame, std::string* reason) {
  constexpr const char* kName = "FINISH";
  FinishHeader header;
  if (!CopyHeader(data, size, &header)) return TooShort(kName, size, reason);
  if ((frame->flags & ~(kFlagMessage | kFlagNotBegun)) != 0) {
    return BadFlags(kName, frame->flags, reason);
  }
  if (header.metadata_size != 0 || header.zero != 0) return NotZero(kName, reason);
  if ((frame->flags & kFlagMessage) == 0 && header.message_size != 0) {
    return Violation(reason, "FINISH frame with a message size but no message");
  }
  const size_t rest = size - sizeof(header);
  // 64 bits: three sizes of 32 bits cannot overflow.
  const uint64_t needed = uint64_t{header.text_size} + header.details_size + header.message_size;
  if (needed != rest) {
    return Violation(reason, absl::StrCat("FINISH frame of ", size, " bytes announces ",
                                          needed + sizeof(header)));
  }
  const uint8_t* at = data + sizeof(header);
  frame->code = header.code;
  frame->message_size = header.message_size;
  frame->text = {at, header.text_size};
  frame->details = {at + header.text_size, header.details_size};
  frame->message = {at + header.text_size + header.details_size, header.message_size};
  return Decoded::kFrame;
}

Decoded DecodeBare(const char* name, size_t size, const Frame& frame, std::string* reason) {
  if (frame.flags != 0) return BadFlags(name, frame.flags, reason);
  if (size != sizeof(FrameHeader)) {
    return Violation(reason, absl::StrCat(name, " frame of ", size, " bytes"));
  }
  return Decoded::kFrame;
}

}  // namespace

StartHeader MakeStart(uint32_t call_id, uint32_t method, size_t name_size, size_t message_size,
                      uint64_t timeout_ns) {
  const uint8_t flags = kFlagMessage | kFlagEnd | (name_size != 0 ? kFlagMethodName : 0);
  return {.frame = MakeHeader(FrameType::kStart, flags, call_id),
          .method = method,
          .message_size = static_cast<uint32_t>(message_size),
          .timeout_ns = timeout_ns,
          .metadata_size = 0,
          .name_size = static_cast<uint16_t>(name_size),
          .zero = 0};
}

MessageHeader MakeMessage(uint32_t call_id, size_t message_size) {
  return {.frame = MakeHeader(FrameType::kMessage, 0, call_id),
          .message_size = static_cast<uint32_t>(message_size),
          .zero = 0};
}

FrameHeader MakeContinue(uint32_t call_id) { return MakeHeader(FrameType::kContinue, 0, call_id); }

FinishHeader MakeFinish(uint32_t call_id, int code, size_t text_size, size_t details_size) {
  return {.frame = MakeHeader(FrameType::kFinish, 0, call_id),
          .code = code,
          .message_size = 0,
          .text_size = static_cast<uint32_t>(text_size),
          .details_size = static_cast<uint32_t>(details_size),
          .metadata_size = 0,
          .zero = 0};
}

FinishHeader MakeFinishOk(uint32_t call_id, size_t message_size) {
  FinishHeader header = MakeFinish(call_id, 0, 0, 0);
  header.frame.flags = kFlagMessage;
  header.message_size = static_cast<uint32_t>(message_size);
  return header;
}

FrameHeader MakeCancel(uint32_t call_id) { return MakeHeader(FrameType::kCancel, 0, call_id); }

FrameHeader MakeGoAway() { return MakeHeader(FrameType::kGoAway, 0, 0); }

Decoded DecodeFrame(const uint8_t* data, size_t size, Frame* frame, std::string* reason) {
  FrameHeader header;
  if (!CopyHeader(data, size, &header)) return TooShort("a", size, reason);
  *frame = Frame();
  frame->type = header.type;
  frame->flags = header.flags;
  frame->call_id = header.call_id;
  // Before the zeros: what they mean in a type that we do not know is not ours to judge.
  if (header.type >= FrameType::kFirstOptional) return Decoded::kSkip;
  if (header.zero != 0) return NotZero("a", reason);
  switch (header.type) {
    case FrameType::kStart:
      return DecodeStart(data, size, frame, reason);
    case FrameType::kMessage:
      return DecodeMessage(data, size, frame, reason);
    case FrameType::kContinue:
      return DecodeContinue(data, size, frame, reason);
    case FrameType::kFinish:
      return DecodeFinish(data, size, frame, reason);
    case FrameType::kCancel:
      return DecodeBare("CANCEL", size, *frame, reason);
    case FrameType::kGoAway:
      return DecodeBare("GOAWAY", size, *frame, reason);
    default:
      return Violation(reason,
                       absl::StrCat("frame of unknown type ", static_cast<unsigned>(header.type)));
  }
}

}  // namespace locket::internal
