// The RPC floor's block in the transport's handshake: versions, features, limits. PROTOCOL.md,
// "Handshake".
#ifndef LOCKET_RPC_INTERNAL_HANDSHAKE_H_
#define LOCKET_RPC_INTERNAL_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace locket::internal {

inline constexpr uint16_t kProtocolVersionMin = 1;
inline constexpr uint16_t kProtocolVersionMax = 1;
inline constexpr uint64_t kKnownFeatures = 0;

inline constexpr uint32_t kInitialWindow = 64 * 1024 + 4 * 1024;
inline constexpr uint32_t kDefaultCallsInFlight = 8192;
inline constexpr uint32_t kDefaultBoundMethods = 1024;
inline constexpr uint32_t kMaxCallsInFlight = 65536;
inline constexpr uint32_t kMaxBoundMethods = 4096;

// What one side says. The defaults are what this build says as a client.
struct Handshake {
  uint16_t version_min = kProtocolVersionMin;
  uint16_t version_max = kProtocolVersionMax;
  uint16_t version = 0;  // Chosen by the server.
  uint64_t features = kKnownFeatures;
  uint64_t required = 0;
  uint32_t initial_window = kInitialWindow;
  uint32_t calls_in_flight = kDefaultCallsInFlight;
  uint32_t bound_methods = kDefaultBoundMethods;
};

// What both sides hold to on one connection.
struct Agreement {
  uint32_t calls_in_flight = 0;
  uint32_t bound_methods = 0;
};

std::string EncodeHandshake(const Handshake& handshake);

// What the client and the server agree on, from the blocks of both: the server's own and the
// client's as received. UNAVAILABLE where they do not meet, naming both versions, or where the
// client's is not a block of this protocol.
absl::StatusOr<Agreement> AgreeAsServer(const Handshake& own, const std::string& client_block);

// The server's answer to a client that it agreed with.
std::string EncodeAnswer(Handshake own, const Agreement& agreement);

// The same on the client's side, from the server's answer. INTERNAL where the answer cannot be.
absl::StatusOr<Agreement> AgreeAsClient(const Handshake& own, const std::string& server_block);

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_HANDSHAKE_H_
