#include "locket/transport/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/accept_loop.h"
#include "locket/transport/internal/address.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/handshake.h"
#include "locket/transport/internal/inherited_socket.h"
#include "locket/transport/internal/listening_socket.h"
#include "locket/transport/internal/shm_connection.h"

namespace locket::transport {
namespace {

using internal::Address;
using internal::ErrnoStatus;
using internal::Established;
using internal::ListeningSocket;
using internal::Segment;
using internal::ShmConnection;
using internal::Side;
using internal::UniqueFd;

// A socket connected to the address. A full backlog is waited for, a little at a time: Unix sockets
// have no way to wait for room in it.
absl::StatusOr<UniqueFd> ConnectSocket(const Address& address, Deadline deadline) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return ErrnoStatus(errno, "socket(AF_UNIX, SOCK_SEQPACKET)");
  // The kernel then says who sends: connect()'s own credentials name whoever called listen().
  const int on = 1;
  if (setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
    return ErrnoStatus(errno, "setsockopt(SO_PASSCRED)");
  }
  const internal::SocketAddress where = internal::ToSocketAddress(address);
  while (connect(socket.get(), where.get(), where.size) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error == ECONNREFUSED && address.kind == Address::Kind::kPort) {
      return absl::UnavailableError(absl::StrCat(
          address.ToString(),
          ": Connection refused (no Locket server of this network namespace has the port; TCP is "
          "another matter)"));
    }
    if (error != EAGAIN) return ErrnoStatus(error, address.ToString());
    if (deadline.passed()) {
      return absl::DeadlineExceededError(
          absl::StrCat(address.ToString(), ": the server's backlog stayed full"));
    }
    poll(nullptr, 0, 1);
  }
  return socket;
}

absl::StatusOr<std::unique_ptr<ListeningSocket>> Open(const std::string& target, mode_t mode) {
  absl::StatusOr<std::optional<UniqueFd>> inherited = internal::InheritedSocket(target);
  if (!inherited.ok()) return inherited.status();
  if (inherited->has_value()) return ListeningSocket::Adopt(**std::move(inherited));
  absl::StatusOr<Address> address = internal::ParseTarget(target, internal::Use::kListen);
  if (!address.ok()) return address.status();
  return ListeningSocket::Listen(*std::move(address), mode);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Listen(const std::string& target,
                                                           ListenOptions options,
                                                           OnConnection on_connection) {
  // Tried out here, so that a wrong size is the server's error and not that of each client.
  absl::StatusOr<std::unique_ptr<Segment>> trial = Segment::Create(options.ring_size);
  if (!trial.ok()) return trial.status();
  absl::StatusOr<std::unique_ptr<ListeningSocket>> listening = Open(target, options.socket_mode);
  if (!listening.ok()) return listening.status();
  return internal::AcceptLoop::Start(*std::move(listening), std::move(options),
                                     std::move(on_connection));
}

absl::StatusOr<std::unique_ptr<Connection>> Connect(const std::string& target,
                                                    const ConnectOptions& options,
                                                    Deadline deadline) {
  absl::StatusOr<Address> address = internal::ParseTarget(target);
  if (!address.ok()) return address.status();
  absl::StatusOr<UniqueFd> socket = ConnectSocket(*address, deadline);
  if (!socket.ok()) return socket.status();
  absl::StatusOr<Established> established =
      internal::ConnectHandshake(*std::move(socket), options, deadline);
  if (!established.ok()) return established.status();
  if (options.prefault) established->segment->Prefault();
  established->half_close = options.half_close;
  return ShmConnection::Create(*std::move(established), Side::kConnecting, options.spin);
}

absl::StatusOr<ConnectionPair> CreatePair(const ListenOptions& options,
                                          const ConnectOptions& connect_options) {
  std::string block;
  if (options.negotiate) {
    absl::StatusOr<std::string> agreed = options.negotiate(connect_options.block);
    if (!agreed.ok()) return agreed.status();
    block = *std::move(agreed);
  }
  if (std::max(block.size(), connect_options.block.size()) > kMaxBlockSize) {
    return internal::BlockTooLarge(std::max(block.size(), connect_options.block.size()));
  }
  absl::StatusOr<std::unique_ptr<Segment>> segment = Segment::Create(options.ring_size);
  if (!segment.ok()) return segment.status();
  if (absl::Status sealed = (*segment)->SealForGood(); !sealed.ok()) return sealed;

  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  const PeerIdentity self{getpid(), geteuid(), getegid()};
  Established connecting;
  Established accepting;
  connecting.socket.Reset(sockets[0]);
  accepting.socket.Reset(sockets[1]);
  absl::StatusOr<UniqueFd> doorbell = internal::CreateDoorbell();
  if (!doorbell.ok()) return doorbell.status();
  accepting.doorbell = *std::move(doorbell);
  connecting.doorbell.Reset(fcntl(accepting.doorbell.get(), F_DUPFD_CLOEXEC, 0));
  if (!connecting.doorbell.valid()) return ErrnoStatus(errno, "fcntl(F_DUPFD_CLOEXEC)");
  connecting.segment = *std::move(segment);
  if (options.prefault || connect_options.prefault) connecting.segment->Prefault();
  accepting.segment = connecting.segment;
  connecting.peer = accepting.peer = self;
  connecting.peer_block = std::move(block);
  accepting.peer_block = connect_options.block;
  connecting.half_close = connect_options.half_close;
  accepting.half_close = options.half_close;

  absl::StatusOr<std::unique_ptr<ShmConnection>> client =
      ShmConnection::Create(std::move(connecting), Side::kConnecting, connect_options.spin);
  if (!client.ok()) return client.status();
  absl::StatusOr<std::unique_ptr<ShmConnection>> server =
      ShmConnection::Create(std::move(accepting), Side::kAccepting, options.spin);
  if (!server.ok()) return server.status();
  return ConnectionPair{*std::move(client), *std::move(server)};
}

}  // namespace locket::transport
