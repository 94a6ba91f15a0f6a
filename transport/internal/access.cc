#include "locket/transport/internal/access.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/socket.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {
namespace {

uint32_t ReadId(const char* path) {
  constexpr uint32_t kUsual = 65534;
  const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  char text[16];
  const ssize_t size = file.valid() ? read(file.get(), text, sizeof(text)) : -1;
  uint32_t id;
  if (size <= 0 || !absl::SimpleAtoi(std::string(text, static_cast<size_t>(size)), &id)) {
    return kUsual;
  }
  return id;
}

bool Contains(const std::vector<uint32_t>& ids, uint32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool IsAllowedGroup(gid_t gid, const AllowedPeers& allowed) {
  return gid != OverflowGid() && Contains(allowed.gids, gid);
}

// All groups of whoever connected.
absl::StatusOr<std::vector<gid_t>> ConnectedGroups(int socket) {
  std::vector<gid_t> groups(64);
  for (;;) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) {
      groups.resize(size / sizeof(gid_t));
      return groups;
    }
    // ERANGE says how many there are.
    if (errno != ERANGE || size <= groups.size() * sizeof(gid_t)) {
      return ErrnoStatus(errno, "getsockopt(SO_PEERGROUPS)");
    }
    groups.resize(size / sizeof(gid_t));
  }
}

}  // namespace

uid_t OverflowUid() {
  static const uid_t id = ReadId("/proc/sys/kernel/overflowuid");
  return id;
}

gid_t OverflowGid() {
  static const gid_t id = ReadId("/proc/sys/kernel/overflowgid");
  return id;
}

absl::Status CheckPeer(const PeerIdentity& peer, const std::vector<gid_t>& groups,
                       const AllowedPeers& allowed, const char* what) {
  const uid_t own = geteuid();
  if (peer.uid != OverflowUid()) {
    if (peer.uid == own || peer.uid == 0 || Contains(allowed.uids, peer.uid)) {
      return absl::OkStatus();
    }
    if (IsAllowedGroup(peer.gid, allowed)) return absl::OkStatus();
    for (const gid_t group : groups) {
      if (IsAllowedGroup(group, allowed)) return absl::OkStatus();
    }
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the ", what, " runs as uid ", peer.uid, " and gid ", peer.gid,
                   ", which this process of uid ", own, " does not admit"));
}

absl::Status CheckClient(int socket, const AllowedPeers& allowed, PeerIdentity* peer) {
  absl::StatusOr<PeerIdentity> connected = ConnectedPeer(socket);
  if (!connected.ok()) return connected.status();
  *peer = *connected;
  std::vector<gid_t> groups;
  if (!allowed.gids.empty()) {
    absl::StatusOr<std::vector<gid_t>> all = ConnectedGroups(socket);
    if (!all.ok()) return all.status();
    groups = *std::move(all);
  }
  return CheckPeer(*peer, groups, allowed, "client");
}

}  // namespace locket::transport::internal
