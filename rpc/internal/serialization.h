// The seam between calls and messages: the only file of rpc/ that knows how a message becomes
// bytes. SerializationTraits and ByteBuffer will stand behind it; protobuf messages do now.
#ifndef LOCKET_RPC_INTERNAL_SERIALIZATION_H_
#define LOCKET_RPC_INTERNAL_SERIALIZATION_H_

#include <cstddef>
#include <cstdint>

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

// Writes the bytes, exactly MessageSize() of them, to `out`, which may lie in shared memory: it is
// not read.
inline void WriteMessage(const google::protobuf::MessageLite& message, uint8_t* out) {
  message.SerializeWithCachedSizesToArray(out);
}

// False where the bytes are not such a message.
inline bool ParseMessage(const Buffer& bytes, google::protobuf::MessageLite* message) {
  return bytes.size() <= kMaxMessageSize &&
         message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERIALIZATION_H_
