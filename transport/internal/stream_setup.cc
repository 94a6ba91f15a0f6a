#include "locket/transport/internal/stream_setup.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "locket/transport/internal/layout.h"

namespace locket::transport::internal {
namespace {

// Bytes of a foreign block that an error quotes.
constexpr size_t kQuoted = 32;

constexpr char kScheme[] = "locket:";

absl::Status CheckMaxRecord(const SocketOptions& options) {
  if (options.max_record > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("a largest record of 0 bytes");
}

// The capacity, doubled until the ring holds as many records as the options ask for.
absl::StatusOr<size_t> RingSize(const SocketOptions& options) {
  size_t ring_size = options.capacity;
  // Before any product is formed that could overflow.
  const size_t most = kMaxRingSize / kLine;
  if (options.records_in_flight > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.records_in_flight, " records in flight are more than a ring can have, ", most));
  }
  if (ring_size == 0 || options.records_in_flight == 0) return ring_size;
  for (;; ring_size *= 2) {
    if (ring_size > kMaxRingSize) {
      return absl::InvalidArgumentError(absl::StrCat(
          options.records_in_flight, " records of ", options.max_record,
          " bytes in flight do not fit into the largest ring, of ", kMaxRingSize, " bytes"));
    }
    if (options.max_record > MaxRecordSize(ring_size)) continue;
    const size_t needed = options.records_in_flight * RecordLength(options.max_record) + kLine;
    if (needed <= ring_size) return ring_size;
  }
}

}  // namespace

absl::StatusOr<ListenOptions> StreamListenOptions(const SocketOptions& options) {
  if (absl::Status record = CheckMaxRecord(options); !record.ok()) return record;
  absl::StatusOr<size_t> ring_size = RingSize(options);
  if (!ring_size.ok()) return ring_size.status();
  ListenOptions listen = options.listen;
  listen.ring_size = *ring_size;
  listen.spin = options.spin;
  listen.half_close = true;
  listen.negotiate = [](const std::string& block) -> absl::StatusOr<std::string> {
    absl::Status stream = CheckStreamBlock(block, "client");
    if (!stream.ok()) return stream;
    return std::string(kStreamBlock);
  };
  return listen;
}

absl::StatusOr<ConnectOptions> StreamConnectOptions(const SocketOptions& options) {
  if (absl::Status record = CheckMaxRecord(options); !record.ok()) return record;
  ConnectOptions connect = options.connect;
  connect.spin = options.spin;
  connect.half_close = true;
  connect.block = kStreamBlock;
  return connect;
}

absl::StatusOr<std::string> StreamTarget(const std::string& address, const SocketOptions& options) {
  if (options.directory.empty() || address.compare(0, sizeof(kScheme) - 1, kScheme) != 0) {
    return address;
  }
  const std::string name = address.substr(sizeof(kScheme) - 1);
  if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(address, " is no plain name of a socket"));
  }
  std::string path = absl::StrCat(options.directory, "/", name);
  // unix:///absolute or unix:relative.
  return absl::StrCat(path[0] == '/' ? "unix://" : "unix:", path);
}

absl::Status CheckStreamBlock(const std::string& block, const char* who) {
  if (block == kStreamBlock) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("the ", who, " speaks \"",
                                             absl::CHexEscape(block.substr(0, kQuoted)),
                                             "\", and this side \"", kStreamBlock, "\""));
}

std::shared_ptr<StreamCore> MakeStreamCore(std::unique_ptr<Connection> connection,
                                           const SocketOptions& options) {
  return std::make_shared<StreamCore>(std::move(connection), options.max_record);
}

}  // namespace locket::transport::internal
