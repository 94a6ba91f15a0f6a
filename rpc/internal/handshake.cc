#include "locket/rpc/internal/handshake.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace locket::internal {
namespace {

constexpr char kMagic[8] = {'L', 'K', 'T', '-', 'R', 'P', 'C', '\0'};

// As it travels.
struct Block {
  char magic[8];
  uint16_t version_min;
  uint16_t version_max;
  uint16_t version;
  uint16_t zero;
  uint64_t features;
  uint64_t required;
  uint32_t initial_window;
  uint32_t calls_in_flight;
  uint32_t bound_methods;
  uint32_t zero2;
};
static_assert(sizeof(Block) == 48 && offsetof(Block, calls_in_flight) == 36);

absl::StatusOr<Block> Decode(const std::string& bytes, const char* who) {
  Block block;
  if (bytes.size() < sizeof(block)) {
    return absl::UnavailableError(
        absl::StrCat("the ", who, " does not speak Locket's RPC protocol: its handshake block has ",
                     bytes.size(), " bytes"));
  }
  std::memcpy(&block, bytes.data(), sizeof(block));
  if (std::memcmp(block.magic, kMagic, sizeof(kMagic)) != 0) {
    return absl::UnavailableError(
        absl::StrCat("the ", who, " does not speak Locket's RPC protocol: wrong magic"));
  }
  if ((block.required & ~kKnownFeatures) != 0) {
    return absl::UnavailableError(absl::StrCat(
        "the ", who, " requires features of the RPC protocol that this build does not know: ",
        absl::Hex(block.required & ~kKnownFeatures)));
  }
  return block;
}

absl::Status VersionsDoNotMeet(int client_min, int client_max, int server_min, int server_max) {
  return absl::UnavailableError(
      absl::StrCat("RPC protocol versions do not meet: the client speaks ", client_min, " to ",
                   client_max, ", the server ", server_min, " to ", server_max));
}

uint32_t Limit(uint32_t a, uint32_t b, uint32_t most) { return std::min({a, b, most}); }

}  // namespace

std::string EncodeHandshake(const Handshake& handshake) {
  Block block = {.magic = {},
                 .version_min = handshake.version_min,
                 .version_max = handshake.version_max,
                 .version = handshake.version,
                 .zero = 0,
                 .features = handshake.features,
                 .required = handshake.required,
                 .initial_window = handshake.initial_window,
                 .calls_in_flight = handshake.calls_in_flight,
                 .bound_methods = handshake.bound_methods,
                 .zero2 = 0};
  std::memcpy(block.magic, kMagic, sizeof(kMagic));
  return std::string(reinterpret_cast<const char*>(&block), sizeof(block));
}

absl::StatusOr<Agreement> AgreeAsServer(const Handshake& own, const std::string& client_block) {
  absl::StatusOr<Block> client = Decode(client_block, "client");
  if (!client.ok()) return client.status();
  if (client->version_max < own.version_min || client->version_min > own.version_max) {
    return VersionsDoNotMeet(client->version_min, client->version_max, own.version_min,
                             own.version_max);
  }
  if (client->calls_in_flight == 0) {
    return absl::UnavailableError("the client offers no calls in flight");
  }
  return Agreement{Limit(own.calls_in_flight, client->calls_in_flight, kMaxCallsInFlight),
                   Limit(own.bound_methods, client->bound_methods, kMaxBoundMethods)};
}

std::string EncodeAnswer(Handshake own, const Agreement& agreement) {
  own.version = kProtocolVersionMax;  // There is one so far.
  own.calls_in_flight = agreement.calls_in_flight;
  own.bound_methods = agreement.bound_methods;
  return EncodeHandshake(own);
}

absl::StatusOr<Agreement> AgreeAsClient(const Handshake& own, const std::string& server_block) {
  absl::StatusOr<Block> server = Decode(server_block, "server");
  if (!server.ok()) return server.status();
  if (server->version < own.version_min || server->version > own.version_max) {
    return VersionsDoNotMeet(own.version_min, own.version_max, server->version_min,
                             server->version_max);
  }
  if (server->calls_in_flight == 0) {
    return absl::InternalError("the server's handshake allows no call in flight");
  }
  return Agreement{Limit(own.calls_in_flight, server->calls_in_flight, kMaxCallsInFlight),
                   Limit(own.bound_methods, server->bound_methods, kMaxBoundMethods)};
}

}  // namespace locket::internal
