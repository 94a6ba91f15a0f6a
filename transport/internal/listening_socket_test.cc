#include "locket/transport/internal/listening_socket.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace locket::transport::internal {
namespace {

class ListeningSocketTest : public testing::Test {
 protected:
  // Not TEST_TMPDIR, which may be too long for a socket's path.
  ListeningSocketTest() {
    char name[] = "/tmp/locket-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = directory_ + "/s";
  }
  ~ListeningSocketTest() override { std::filesystem::remove_all(directory_); }

  absl::StatusOr<std::unique_ptr<ListeningSocket>> Listen() {
    return ListeningSocket::Listen({Address::Kind::kPath, path_});
  }

  // A socket file whose process is gone.
  void LeaveDeadSocket() {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const SocketAddress where = ToSocketAddress({Address::Kind::kPath, path_});
    ASSERT_EQ(bind(socket.get(), where.get(), where.size), 0);
  }

  int FilesInDirectory() const {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  std::string directory_;
  std::string path_;
};

TEST_F(ListeningSocketTest, TheFileHasMode0600WhateverTheUmaskAndGoesWithTheListener) {
  const mode_t before = umask(0);
  auto listening = Listen();
  umask(before);
  ASSERT_TRUE(listening.ok()) << listening.status();
  struct stat stat;
  ASSERT_EQ(lstat(path_.c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 07777, 0600u);
  EXPECT_EQ(FilesInDirectory(), 1);
  listening->reset();
  EXPECT_EQ(FilesInDirectory(), 0);
}

TEST_F(ListeningSocketTest, TheModeIsTheOneAskedForWhateverTheUmask) {
  const mode_t before = umask(077);
  auto listening = ListeningSocket::Listen({Address::Kind::kPath, path_}, 0666);
  umask(before);
  ASSERT_TRUE(listening.ok()) << listening.status();
  struct stat stat;
  ASSERT_EQ(lstat(path_.c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 07777, 0666u);
}

TEST_F(ListeningSocketTest, AnInheritedSocketKeepsItsFileAndItsAddress) {
  auto first = Listen();
  ASSERT_TRUE(first.ok()) << first.status();
  auto adopted = ListeningSocket::Adopt(UniqueFd(dup((*first)->descriptor())));
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  // The name that it was bound to: a socket does not know of a rename.
  EXPECT_EQ((*adopted)->address().kind, Address::Kind::kPath);
  adopted->reset();
  EXPECT_EQ(FilesInDirectory(), 1);
}

TEST_F(ListeningSocketTest, WhatCannotBeListenedOnIsNotAdopted) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const absl::Status status =
        ListeningSocket::Adopt(UniqueFd(socket(AF_UNIX, type | SOCK_CLOEXEC, 0))).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    const std::string why =
        type == SOCK_STREAM ? "its type is 1, and not 5" : "its listening state is 0, and not 1";
    EXPECT_NE(status.message().find(why), absl::string_view::npos) << status;
  }
}

TEST_F(ListeningSocketTest, ALivePathIsRefused) {
  auto first = Listen();
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = Listen().status();
  EXPECT_TRUE(absl::IsAlreadyExists(second)) << second;
  EXPECT_NE(second.message().find(path_), absl::string_view::npos);
  EXPECT_EQ(FilesInDirectory(), 1);
}

TEST_F(ListeningSocketTest, ADeadPathIsTakenOver) {
  LeaveDeadSocket();
  EXPECT_TRUE(Listen().ok());
}

TEST_F(ListeningSocketTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(path_) << "data";
  EXPECT_TRUE(absl::IsAlreadyExists(Listen().status()));
  EXPECT_EQ(std::filesystem::file_size(path_), 4u);
}

TEST_F(ListeningSocketTest, OnlyTheOwnFileIsRemoved) {
  auto listening = Listen();
  ASSERT_TRUE(listening.ok());
  std::filesystem::remove(path_);
  LeaveDeadSocket();
  listening->reset();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(ListeningSocketTest, AMissingDirectoryIsNamed) {
  path_ = directory_ + "/none/s";
  const absl::Status status = Listen().status();
  EXPECT_NE(status.message().find(directory_ + "/none): No such file"), absl::string_view::npos)
      << status;
}

TEST(ListeningNameTest, AnInheritedPortIsKnown) {
  auto first = ListeningSocket::Listen(PortAddress(0));
  ASSERT_TRUE(first.ok());
  auto adopted = ListeningSocket::Adopt(UniqueFd(dup((*first)->descriptor())));
  ASSERT_TRUE(adopted.ok()) << adopted.status();
  EXPECT_EQ((*adopted)->address().kind, Address::Kind::kPort);
  EXPECT_EQ((*adopted)->address().port, (*first)->address().port);
}

TEST(ListeningNameTest, PortZeroTakesAFreePort) {
  auto first = ListeningSocket::Listen(PortAddress(0));
  auto second = ListeningSocket::Listen(PortAddress(0));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE((*first)->address().port, 0);
  EXPECT_NE((*first)->address().port, (*second)->address().port);
  EXPECT_TRUE(absl::IsAlreadyExists(ListeningSocket::Listen((*first)->address()).status()));
}

}  // namespace
}  // namespace locket::transport::internal
