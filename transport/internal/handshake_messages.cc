#include "locket/transport/internal/handshake_messages.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace locket::transport::internal {
namespace {

absl::StatusOr<MessageHeader> DecodeHeader(std::string_view bytes) {
  MessageHeader header;
  if (bytes.size() < sizeof(header)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a handshake message of ", bytes.size(), " bytes"));
  }
  memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kHandshakeMagic) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a handshake message with the magic number %#x, and not %#x: the peer is "
                        "not Locket",
                        header.magic, kHandshakeMagic));
  }
  return header;
}

}  // namespace

absl::StatusOr<MessageKind> DecodeKind(std::string_view bytes) {
  absl::StatusOr<MessageHeader> header = DecodeHeader(bytes);
  if (!header.ok()) return header.status();
  return header->kind;
}

absl::Status DecodeFixed(std::string_view bytes, MessageKind kind, void* fixed, size_t fixed_size) {
  absl::StatusOr<MessageHeader> header = DecodeHeader(bytes);
  if (!header.ok()) return header.status();
  if (header->kind != kind) {
    return absl::InvalidArgumentError(absl::StrCat("a handshake message of kind ",
                                                   static_cast<int>(header->kind), ", and not ",
                                                   static_cast<int>(kind)));
  }
  if (header->size != bytes.size() || header->tail_size > kMaxTailSize ||
      header->size != fixed_size + header->tail_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("a handshake message of kind ", static_cast<int>(kind), " and ", bytes.size(),
                     " bytes that says it has ", header->size, ", ", header->tail_size,
                     " of them behind ", fixed_size));
  }
  memcpy(fixed, bytes.data(), fixed_size);
  return absl::OkStatus();
}

absl::StatusOr<uint16_t> ChooseVersion(uint16_t peer_min, uint16_t peer_max) {
  const uint16_t version = std::min(peer_max, kMaxVersion);
  if (version >= std::max(peer_min, kMinVersion)) return version;
  return absl::UnavailableError(absl::StrCat("versions ", peer_min, " to ", peer_max,
                                             " of the peer's transport are outside ", kMinVersion,
                                             " to ", kMaxVersion));
}

absl::Status CheckRequired(uint64_t required_features) {
  const uint64_t unknown = required_features & ~kKnownFeatures;
  if (unknown == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrFormat("the peer requires the transport's features %#x, and this build has %#x",
                      required_features, kKnownFeatures));
}

}  // namespace locket::transport::internal
