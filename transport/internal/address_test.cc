#include "locket/transport/internal/address.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace locket::transport::internal {
namespace {

TEST(AddressTest, UnixTargetsNameAPath) {
  EXPECT_EQ(ParseTarget("unix:run/x")->name, "run/x");
  EXPECT_EQ(ParseTarget("unix:/run/x")->name, "/run/x");
  EXPECT_EQ(ParseTarget("unix:///run/x")->name, "/run/x");
  EXPECT_EQ(ParseTarget("unix:/run/x")->kind, Address::Kind::kPath);
}

TEST(AddressTest, PathsThatCannotBeAreRefusedWithBothNumbers) {
  const std::string longest(107, 'x');
  EXPECT_TRUE(ParseTarget("unix:" + longest).ok());
  const absl::Status status = ParseTarget("unix:" + longest + "y").status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_NE(status.message().find("108 bytes, more than 107"), absl::string_view::npos) << status;
  EXPECT_TRUE(absl::IsInvalidArgument(ParseTarget(std::string("unix:a\0b", 8)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ParseTarget("unix:").status()));
}

TEST(AddressTest, AbstractNamesHoldAnyBytes) {
  EXPECT_EQ(ParseTarget("unix-abstract:grpc%00abstract")->name, std::string("grpc\0abstract", 13));
  EXPECT_EQ(ParseTarget("unix-abstract:a")->kind, Address::Kind::kAbstract);
  for (const char* bad : {"unix-abstract:", "unix-abstract:a%0", "unix-abstract:%zz"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTarget(bad).status())) << bad;
  }
}

TEST(AddressTest, TheSpellingsOfOneTcpPortAreOneName) {
  for (const char* target :
       {"localhost:50051", "127.0.0.1:50051", "127.8.9.1:50051", "0.0.0.0:50051", "[::]:50051",
        "[::1]:50051", ":50051", "50051", "dns:///localhost:50051", "ipv4:127.0.0.1:50051",
        "ipv6:[::1]:50051", "dns:localhost:50051"}) {
    const absl::StatusOr<Address> address = ParseTarget(target);
    ASSERT_TRUE(address.ok()) << target << address.status();
    EXPECT_EQ(address->name, "locket-tcp/50051") << target;
    EXPECT_EQ(address->port, 50051) << target;
  }
}

TEST(AddressTest, WhatIsNoTargetIsRefused) {
  for (const char* bad : {"", "localhost", "localhost:", "localhost:x", "localhost:65536", "[::1",
                          "dns:///", "xds:foo"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTarget(bad).status())) << bad;
  }
}

TEST(AddressTest, AnotherHostIsUnavailableAndTheTextNamesGrpc) {
  const absl::Status status = ParseTarget("example.com:80").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_NE(status.message().find("gRPC"), absl::string_view::npos);
}

TEST(AddressTest, LocketTargetsLiveInThePrivateRuntimeDirectory) {
  std::string directory = testing::TempDir() + "/address-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  ASSERT_EQ(setenv("XDG_RUNTIME_DIR", directory.c_str(), 1), 0);
  ASSERT_EQ(unsetenv("LOCKET_RUNTIME_DIR"), 0);
  // Who connects does not make it.
  EXPECT_TRUE(absl::IsUnavailable(RuntimeDirectory(Use::kConnect).status()));
  EXPECT_EQ(*RuntimeDirectory(Use::kListen), directory + "/locket");
  EXPECT_EQ(*RuntimeDirectory(Use::kConnect), directory + "/locket");

  const std::string own = directory + "/x";
  ASSERT_EQ(setenv("LOCKET_RUNTIME_DIR", own.c_str(), 1), 0);
  EXPECT_EQ(*RuntimeDirectory(Use::kListen), own);
  EXPECT_FALSE(ParseTarget("locket:").ok());
  EXPECT_FALSE(ParseTarget("locket:a/b").ok());
  EXPECT_FALSE(ParseTarget("locket:..").ok());

  ASSERT_EQ(chmod(own.c_str(), 0755), 0);
  const absl::Status open = RuntimeDirectory(Use::kListen).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(open)) << open;
  EXPECT_NE(open.message().find("0700"), absl::string_view::npos);
}

}  // namespace
}  // namespace locket::transport::internal
