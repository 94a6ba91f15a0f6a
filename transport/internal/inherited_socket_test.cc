#include "locket/transport/internal/inherited_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace locket::transport::internal {
namespace {

class InheritedSocketTest : public testing::Test {
 protected:
  InheritedSocketTest() {
    Set("LISTEN_PID", std::to_string(getpid()));
    Set("LISTEN_FDS", "2");
    Set("LISTEN_FDNAMES", "rpc:admin");
  }
  ~InheritedSocketTest() override {
    for (const char* each : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) unsetenv(each);
  }
  static void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }
};

TEST_F(InheritedSocketTest, OtherTargetsAreNone) {
  for (const char* target : {"unix:fd:3", "localhost:1", "locket:x"}) {
    const auto none = InheritedSocket(target);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(none->has_value());
  }
}

TEST_F(InheritedSocketTest, ADescriptorIsNamedByItsNumberAndDuplicated) {
  const auto socket = InheritedSocket("fd:0");
  ASSERT_TRUE(socket.ok()) << socket.status();
  EXPECT_NE((*socket)->get(), 0);
  EXPECT_EQ(fcntl((*socket)->get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(InheritedSocketTest, WhatIsNoDescriptorIsRefused) {
  for (const char* target : {"fd:", "fd:-1", "fd:x", "fd:3x", "fd:99999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(InheritedSocket(target).status())) << target;
  }
}

TEST_F(InheritedSocketTest, PassedDescriptorsAreNotThoseOfAnotherProcess) {
  Set("LISTEN_PID", "1");
  const absl::Status status = InheritedSocket("systemd:rpc").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("LISTEN_PID is \"1\", and its pid " + std::to_string(getpid())),
            absl::string_view::npos)
      << status;
}

TEST_F(InheritedSocketTest, ANameMustBeThatOfOnePassedDescriptor) {
  EXPECT_EQ(
      InheritedSocket("systemd:").status(),
      absl::FailedPreconditionError("of 2 sockets that were passed to this process, 2, and not 1"));
  EXPECT_EQ(InheritedSocket("systemd:none").status(),
            absl::FailedPreconditionError(
                "of 2 sockets that were passed to this process, 0 are named \"none\", and not 1"));
  Set("LISTEN_FDS", "two");
  EXPECT_TRUE(absl::IsFailedPrecondition(InheritedSocket("systemd:rpc").status()));
}

}  // namespace
}  // namespace locket::transport::internal
