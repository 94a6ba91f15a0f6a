// Who may be at the other end of a connection.
#ifndef LOCKET_TRANSPORT_INTERNAL_ACCESS_H_
#define LOCKET_TRANSPORT_INTERNAL_ACCESS_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "locket/transport/connection.h"
#include "locket/transport/endpoint.h"

namespace locket::transport::internal {

// Whether this process trusts the peer: it has its effective uid, is root, or is allowed by its
// uid, its gid or one of `groups`. A peer of the overflow uid, which stands for every uid that this
// user namespace does not map, is nobody's; nor does the overflow gid allow anybody. `what` is
// "client" or "server". PERMISSION_DENIED.
absl::Status CheckPeer(const PeerIdentity& peer, const std::vector<gid_t>& groups,
                       const AllowedPeers& allowed, const char* what);

// The same for whoever connected this socket, with all its groups (SO_PEERGROUPS). Fills in `peer`.
absl::Status CheckClient(int socket, const AllowedPeers& allowed, PeerIdentity* peer);

// 65534, unless the machine has another (/proc/sys/kernel/overflowuid, overflowgid).
uid_t OverflowUid();
gid_t OverflowGid();

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_ACCESS_H_
