// The first example, as its reader runs it.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "locket/tests/test_process.h"

namespace locket::tests {
namespace {

const char kServer[] = "examples/helloworld/greeter_server";
const char kClient[] = "examples/helloworld/greeter_client";

std::string Target() { return "--target=unix-abstract:locket-example-" + std::to_string(getpid()); }

TEST(ExampleTest, TheServerGreetsAndEndsCleanlyOnSigterm) {
  TestProcess server(kServer, {Target()});
  ASSERT_EQ(server.ReadLine().substr(0, 12), "Listening on");
  TestProcess client(kClient, {Target()});
  EXPECT_EQ(client.ReadLine(), "Hello world");
  EXPECT_EQ(client.Wait(), 0);
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
}

TEST(ExampleTest, AClientWithoutAServerFails) {
  TestProcess client(kClient, {Target()});
  EXPECT_EQ(client.ReadLine(), "<end>");
  EXPECT_NE(client.Wait(), 0);
}

TEST(ExampleTest, ASecondServerOnTheSameTargetDoesNotStart) {
  TestProcess first(kServer, {Target()});
  ASSERT_EQ(first.ReadLine().substr(0, 12), "Listening on");
  TestProcess second(kServer, {Target()});
  EXPECT_NE(second.Wait(), 0);
}

}  // namespace
}  // namespace locket::tests
