// How two processes agree on a connection; FORMAT.md has the sequence.
#ifndef LOCKET_TRANSPORT_INTERNAL_HANDSHAKE_H_
#define LOCKET_TRANSPORT_INTERNAL_HANDSHAKE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/deadline.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/quota.h"
#include "locket/transport/internal/segment.h"
#include "locket/transport/internal/socket.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// What a finished handshake leaves: everything that a connection is made of.
struct Established {
  UniqueFd socket;      // Open for the life of the connection.
  UniqueFd peer_pidfd;  // Not where the kernel has none.
  UniqueFd doorbell;
  std::shared_ptr<Segment> segment;
  PeerIdentity peer;
  std::string peer_block;
  Quota::Ticket ticket;     // The accepting side's.
  bool half_close = false;  // Whether one direction can end alone: ListenOptions.
};

// The error for an opaque block of more than kMaxBlockSize bytes.
absl::Status BlockTooLarge(size_t size);

// The connecting side, from a connected socket that has SO_PASSCRED set. Waits for the peer, until
// the deadline at most.
absl::StatusOr<Established> ConnectHandshake(UniqueFd socket, const ConnectOptions& options,
                                             Deadline deadline);

// The accepting side of one client: never waits, so that a slow client delays nobody.
class AcceptHandshake {
 public:
  enum class Progress { kMore, kDone };

  // `options` must outlive it.
  AcceptHandshake(UniqueFd socket, const ListenOptions& options, std::shared_ptr<Quota> quota);

  int socket() const { return established_.socket.get(); }

  // Whether the client may have a connection at all; one that may not is told so when it says
  // Hello.
  bool trusted() const { return trusted_.ok(); }

  Deadline deadline() const { return deadline_; }

  // Goes on with what the client has sent; call it whenever the socket is readable. An error ends
  // the handshake; the client has been told why, where it could be.
  absl::StatusOr<Progress> Advance();

  // After kDone, once.
  Established Take() { return std::move(established_); }

  // To end it before.
  UniqueFd TakeSocket() { return std::move(established_.socket); }

 private:
  absl::Status OnHello(SocketMessage& message);
  void Refuse(const absl::Status& why);
  absl::Status OnMapped(const SocketMessage& message);

  const ListenOptions& options_;
  const std::shared_ptr<Quota> quota_;
  const Deadline deadline_;
  Established established_;
  const absl::Status trusted_;
  bool welcomed_ = false;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_HANDSHAKE_H_
