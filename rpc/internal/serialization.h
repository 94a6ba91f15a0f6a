// The seam between calls and messages: the only file of rpc/ that knows how a message becomes
// bytes. SerializationTraits and ByteBuffer will stand behind it; protobuf messages do now.
#ifndef LOCKET_RPC_INTERNAL_SERIALIZATION_H_
#define LOCKET_RPC_INTERNAL_SERIALIZATION_H_

#include <cstddef>
#include <cstdint>
#include <new>

#include "google/protobuf/message.h"
#include "google/protobuf/message_lite.h"
#include "locket/rpc/internal/buffer.h"

namespace locket::internal {

// protobuf's own limit, and above any that a user can set.
inline constexpr size_t kMaxMessageSize = 0x7fffffff;

// The size of `message` as bytes; above kMaxMessageSize it cannot be sent. What WriteMessage()
// needs is kept in the message: nobody may change it in between.
inline size_t MessageSize(const google::protobuf::MessageLite& message) {
  return message.ByteSizeLong();
}

// A message to be sent, measured.
struct Outgoing {
  explicit Outgoing(const google::protobuf::MessageLite& message)
      : message(message), size(MessageSize(message)) {}

  const google::protobuf::MessageLite& message;
  const size_t size;
};

// Writes the bytes, exactly MessageSize() of them, to `out`, which may lie in shared memory: it is
// not read.
inline void WriteMessage(const google::protobuf::MessageLite& message, uint8_t* out) {
  message.SerializeWithCachedSizesToArray(out);
}

// False where the bytes are not such a message. ParseFromArray() would log each message that lacks
// a required field, as often as the peer likes. (Of strings that are not UTF-8 protobuf logs an
// error by itself; that cannot be turned off here.)
inline bool ParseMessage(const Buffer& bytes, google::protobuf::MessageLite* message) {
  return bytes.size() <= kMaxMessageSize &&
         message->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())) &&
         message->IsInitialized();
}

// The memory that `message` holds, also behind fields that are clear; SIZE_MAX where nobody knows
// (a message of the lite runtime). Visits every field: not for each call.
inline size_t MessageMemory(const google::protobuf::MessageLite& message) {
  const auto* full = dynamic_cast<const google::protobuf::Message*>(&message);
  if (full == nullptr) return SIZE_MAX;
  try {
    return full->SpaceUsedLong();
  } catch (const std::bad_alloc&) {  // The first time, protobuf builds descriptors.
    return SIZE_MAX;
  }
}

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERIALIZATION_H_
