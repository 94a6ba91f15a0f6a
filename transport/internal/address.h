// What a target says, and the socket address that it means.
#ifndef LOCKET_TRANSPORT_INTERNAL_ADDRESS_H_
#define LOCKET_TRANSPORT_INTERNAL_ADDRESS_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace locket::transport::internal {

// A place on this host where a server listens.
struct Address {
  enum class Kind {
    kPath,      // A socket file: `name` is its path.
    kAbstract,  // `name` in the abstract namespace, which may hold any bytes.
    kPort,      // A TCP spelling: `name` is the abstract name that stands for `port`.
  };
  Kind kind = Kind::kPath;
  std::string name;
  uint16_t port = 0;

  // As errors name it: "unix:/run/x", "unix-abstract:x".
  std::string ToString() const;
};

// What a target is wanted for.
enum class Use { kConnect, kListen };

// Understands
//   unix:path  unix:///path             a socket file; no scheme: host:port, see below
//   unix-abstract:name                  with %xx escapes
//   locket:name                         a socket file in RuntimeDirectory()
//   localhost:port  127.x.x.x:port  0.0.0.0:port  [::]:port  [::1]:port  :port  port
//   and the same behind dns:///  dns:  ipv4:  ipv6:
// The last ones mean the abstract name "locket-tcp/<port>": its scope is the network namespace, as
// that of TCP's port.
//
// Errors: INVALID_ARGUMENT for what cannot be an address (a path over 107 bytes, a NUL in it),
// UNAVAILABLE for a host that is not this one, FAILED_PRECONDITION where locket: has no directory.
absl::StatusOr<Address> ParseTarget(const std::string& target, Use use = Use::kConnect);

// Where `locket:name` lives: $LOCKET_RUNTIME_DIR, else $XDG_RUNTIME_DIR/locket, else for root
// /run/locket. It must belong to this user with mode 0700. Who listens makes it if need be.
absl::StatusOr<std::string> RuntimeDirectory(Use use);

// A socket address and its length, as bind() and connect() want them.
struct SocketAddress {
  struct sockaddr_un address = {};
  socklen_t size = 0;

  const struct sockaddr* get() const { return reinterpret_cast<const struct sockaddr*>(&address); }
};

// `name` must fit: ParseTarget() has checked it.
SocketAddress ToSocketAddress(const Address& address);

// The address that a socket has; its name is empty where it has none.
Address FromSocketAddress(const SocketAddress& address);

// The address of `port`.
Address PortAddress(uint16_t port);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_ADDRESS_H_
