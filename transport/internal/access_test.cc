#include "locket/transport/internal/access.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {
namespace {

constexpr uid_t kOther = 12345;

bool Admits(const PeerIdentity& peer, const AllowedPeers& allowed,
            const std::vector<gid_t>& groups = {}) {
  return CheckPeer(peer, groups, allowed, "client").ok();
}

TEST(CheckPeerTest, OwnUidAndRootAreTrustedAndNobodyElse) {
  EXPECT_TRUE(Admits({1, geteuid(), 0}, {}));
  EXPECT_TRUE(Admits({1, 0, 0}, {}));
  const absl::Status status = CheckPeer({1, kOther, 77}, {}, {}, "client");
  EXPECT_EQ(status, absl::PermissionDeniedError(
                        "the client runs as uid 12345 and gid 77, which this process of uid " +
                        std::to_string(geteuid()) + " does not admit"));
}

TEST(CheckPeerTest, OptionsNameFurtherUidsAndGroups) {
  EXPECT_TRUE(Admits({1, kOther, 77}, {{1, kOther}, {}}));
  EXPECT_TRUE(Admits({1, kOther, 77}, {{}, {1, 77}}));
  EXPECT_TRUE(Admits({1, kOther, 1}, {{}, {77}}, {5, 77}));
  EXPECT_FALSE(Admits({1, kOther, 77}, {{kOther + 1}, {78}}, {79}));
}

TEST(CheckPeerTest, TheOverflowUidAndGidNeverCount) {
  const uid_t uid = OverflowUid();
  const gid_t gid = OverflowGid();
  EXPECT_FALSE(Admits({1, uid, 77}, {{uid}, {}}));
  EXPECT_FALSE(Admits({1, uid, 77}, {{}, {77}}));
  EXPECT_FALSE(Admits({1, kOther, gid}, {{}, {gid}}));
  EXPECT_FALSE(Admits({1, kOther, 1}, {{}, {gid}}, {gid}));
}

TEST(CheckClientTest, TheKernelSaysWhoConnected) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd one(sockets[0]);
  const UniqueFd other(sockets[1]);
  PeerIdentity peer;
  EXPECT_TRUE(CheckClient(one.get(), {{}, {77}}, &peer).ok());
  EXPECT_EQ(peer.pid, getpid());
  EXPECT_EQ(peer.uid, geteuid());
  EXPECT_EQ(peer.gid, getegid());
}

}  // namespace
}  // namespace locket::transport::internal
