// Messages with descriptors over a Unix sequenced-packet socket.
#ifndef LOCKET_TRANSPORT_INTERNAL_SOCKET_H_
#define LOCKET_TRANSPORT_INTERNAL_SOCKET_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

struct SocketMessage {
  std::string bytes;
  std::vector<UniqueFd> descriptors;   // close-on-exec
  std::optional<PeerIdentity> sender;  // Where SO_PASSCRED is set.
};

// Sends one message, never blocks, never raises SIGPIPE. A full socket is RESOURCE_EXHAUSTED.
absl::Status SendMessage(int socket, std::string_view bytes,
                         std::initializer_list<int> descriptors = {});

// Receives one message without waiting; none if there is none yet. The peer's end is UNAVAILABLE
// "Socket closed"; more than `max_bytes` or kMaxDescriptors is INVALID_ARGUMENT; descriptors that
// this process has no numbers left for are RESOURCE_EXHAUSTED.
inline constexpr size_t kMaxDescriptors = 4;
absl::StatusOr<std::optional<SocketMessage>> TryReceiveMessage(int socket, size_t max_bytes);

// Waits for the message too. DEADLINE_EXCEEDED.
absl::StatusOr<SocketMessage> ReceiveMessage(int socket, size_t max_bytes, Deadline deadline);

// Who connected (on the accepting side), from SO_PEERCRED.
absl::StatusOr<PeerIdentity> ConnectedPeer(int socket);

// A pidfd of who connected, from SO_PEERPIDFD; invalid where the kernel gives none.
UniqueFd ConnectedPidfd(int socket);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_SOCKET_H_
