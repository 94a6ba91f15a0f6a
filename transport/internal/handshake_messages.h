// The messages of the handshake, byte by byte; FORMAT.md is the specification.
#ifndef LOCKET_TRANSPORT_INTERNAL_HANDSHAKE_MESSAGES_H_
#define LOCKET_TRANSPORT_INTERNAL_HANDSHAKE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/layout.h"

namespace locket::transport::internal {

inline constexpr uint32_t kHandshakeMagic = 0x53484b4c;  // "LKHS"

// The versions of FORMAT.md that this build speaks.
inline constexpr uint16_t kMinVersion = 1;
inline constexpr uint16_t kMaxVersion = 1;

// Feature bits. Unknown ones are ignored; an unknown required one is refused.
inline constexpr uint64_t kFeatureDescriptors = 1 << 0;    // Reserved: records carry descriptors.
inline constexpr uint64_t kFeatureSocketCarrier = 1 << 1;  // Reserved: records over the socket.
inline constexpr uint64_t kFeatureRobustFutex = 1 << 2;    // Reserved: the early hint of death.
inline constexpr uint64_t kKnownFeatures = 0;              // What this build implements.

enum class MessageKind : uint16_t {
  kHello = 1,    // connecting -> accepting
  kWelcome = 2,  // accepting -> connecting, with the memory
  kMapped = 3,   // connecting -> accepting
  kSealed = 4,   // accepting -> connecting
  kRefused = 5,  // accepting -> connecting, instead of kWelcome
};

enum class Carrier : uint32_t {
  kSharedMemory = 0,
  kSocket = 1,  // Reserved.
};

struct MessageHeader {
  uint32_t magic = kHandshakeMagic;
  MessageKind kind;
  uint16_t reserved = 0;
  uint32_t size = 0;       // Of the whole message, what follows the fixed part included.
  uint32_t tail_size = 0;  // Of what follows the fixed part.
};
static_assert(sizeof(MessageHeader) == 16);

// Descriptors: optionally a pidfd of the sender. Tail: the opaque block of the upper layer.
struct Hello {
  static constexpr MessageKind kKind = MessageKind::kHello;
  MessageHeader header;
  uint16_t min_version = kMinVersion;
  uint16_t max_version = kMaxVersion;
  uint8_t word_size = kWordSize;
  uint8_t reserved[3] = {};
  uint64_t features = kKnownFeatures;
  uint64_t required_features = 0;
  uint64_t reserved2[3] = {};
};
static_assert(sizeof(Hello) == 64);

// Descriptors: the memory, the doorbell (an eventfd), optionally a pidfd of the sender. Tail: the
// opaque block.
struct Welcome {
  static constexpr MessageKind kKind = MessageKind::kWelcome;
  MessageHeader header;
  uint16_t version = 0;
  uint16_t min_version = kMinVersion;
  uint16_t max_version = kMaxVersion;
  uint8_t word_size = kWordSize;
  uint8_t reserved = 0;
  uint64_t features = 0;  // Those of the Hello that this side knows too.
  uint64_t required_features = 0;
  uint64_t layout_hash = kLayoutHash;
  uint64_t segment_size = 0;
  uint64_t ring_size = 0;
  uint64_t ring_offset = 0;
  Carrier carrier = Carrier::kSharedMemory;
  uint32_t reserved2[3] = {};
};
static_assert(sizeof(Welcome) == 88);

struct Mapped {
  static constexpr MessageKind kKind = MessageKind::kMapped;
  MessageHeader header;
  uint64_t layout_hash = kLayoutHash;
};
static_assert(sizeof(Mapped) == 24);

struct Sealed {
  static constexpr MessageKind kKind = MessageKind::kSealed;
  MessageHeader header;
};
static_assert(sizeof(Sealed) == 16);

// Tail: the reason, a text.
struct Refused {
  static constexpr MessageKind kKind = MessageKind::kRefused;
  MessageHeader header;
  uint32_t code = 0;  // An absl::StatusCode.
  uint16_t min_version = kMinVersion;
  uint16_t max_version = kMaxVersion;
};
static_assert(sizeof(Refused) == 24);

inline constexpr size_t kMaxTailSize = kMaxBlockSize;
inline constexpr size_t kMaxMessageSize = sizeof(Welcome) + kMaxTailSize;

// The bytes of `message` with `tail` (at most kMaxTailSize) behind it.
template <typename Message>
std::string Encode(Message message, std::string_view tail = {}) {
  static_assert(std::is_trivially_copyable_v<Message>);
  message.header.kind = Message::kKind;
  message.header.size = static_cast<uint32_t>(sizeof(Message) + tail.size());
  message.header.tail_size = static_cast<uint32_t>(tail.size());
  std::string bytes(reinterpret_cast<const char*>(&message), sizeof(Message));
  bytes.append(tail);
  return bytes;
}

// What a peer sent as a message: its kind, where the bytes can be one at all.
absl::StatusOr<MessageKind> DecodeKind(std::string_view bytes);

// Copies the fixed part out of `bytes`, after checking magic, kind and sizes. INVALID_ARGUMENT.
absl::Status DecodeFixed(std::string_view bytes, MessageKind kind, void* fixed, size_t fixed_size);

template <typename Message>
absl::StatusOr<Message> Decode(std::string_view bytes) {
  Message message;
  absl::Status decoded = DecodeFixed(bytes, Message::kKind, &message, sizeof(message));
  if (!decoded.ok()) return decoded;
  return message;
}

// What follows the fixed part of a message that Decode() accepted.
template <typename Message>
std::string_view TailOf(std::string_view bytes) {
  return bytes.substr(sizeof(Message));
}

// The greatest version in both ranges, or an error that names both.
absl::StatusOr<uint16_t> ChooseVersion(uint16_t peer_min, uint16_t peer_max);

// Whether this build knows every feature that the peer requires; else an error that names them.
absl::Status CheckRequired(uint64_t required_features);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_HANDSHAKE_MESSAGES_H_
