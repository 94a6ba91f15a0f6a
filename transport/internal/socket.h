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

// Descriptors that are left in it are closed on another thread: see close_aside.h.
struct SocketMessage {
  SocketMessage() = default;
  SocketMessage(SocketMessage&&) = default;
  SocketMessage& operator=(SocketMessage&& other) noexcept;
  ~SocketMessage();

  std::string bytes;
  std::vector<UniqueFd> descriptors;   // close-on-exec
  std::optional<PeerIdentity> sender;  // Where SO_PASSCRED is set.
};

// Descriptors of one message that we send.
inline constexpr size_t kMaxDescriptors = 4;

// Sends one message, never blocks, never raises SIGPIPE. A full socket is RESOURCE_EXHAUSTED.
absl::Status SendMessage(int socket, std::string_view bytes,
                         std::initializer_list<int> descriptors = {});

// Receives one message without waiting; none if there is none yet. The peer's end is UNAVAILABLE
// "Socket closed"; more than `max_bytes` is INVALID_ARGUMENT; descriptors that this process has no
// numbers left for are RESOURCE_EXHAUSTED. All are received, however many came (the kernel allows
// 253): it would close those that we leave on this thread.
absl::StatusOr<std::optional<SocketMessage>> TryReceiveMessage(int socket, size_t max_bytes);

// Waits for the message too. DEADLINE_EXCEEDED.
absl::StatusOr<SocketMessage> ReceiveMessage(int socket, size_t max_bytes, Deadline deadline);

// Who connected (on the accepting side), from SO_PEERCRED.
absl::StatusOr<PeerIdentity> ConnectedPeer(int socket);

// Whether messages with descriptors may be sent to this socket (else their senders get EPERM), and
// to those that a listening one accepts. Where the kernel has no SO_PASSRIGHTS, they may.
void AllowDescriptors(int socket, bool allow);

// A pidfd of who connected, from SO_PEERPIDFD; invalid where the kernel gives none.
UniqueFd ConnectedPidfd(int socket);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_SOCKET_H_
