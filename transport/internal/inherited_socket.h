// Sockets that listen already, and that another process has opened for this one.
#ifndef LOCKET_TRANSPORT_INTERNAL_INHERITED_SOCKET_H_
#define LOCKET_TRANSPORT_INTERNAL_INHERITED_SOCKET_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// A duplicate of the descriptor that the target names; nothing if it names none:
//   fd:N          the descriptor N
//   systemd:name  the one of that name, as a service manager passes them: from descriptor 3 on, as
//                 many as $LISTEN_FDS says to the process $LISTEN_PID, with the names
//                 $LISTEN_FDNAMES between colons
//   systemd:      the only one
// Those that were passed get FD_CLOEXEC: a child of this process is not meant. INVALID_ARGUMENT,
// FAILED_PRECONDITION where nothing was passed to this process, or another number of them.
absl::StatusOr<std::optional<UniqueFd>> InheritedSocket(const std::string& target);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_INHERITED_SOCKET_H_
