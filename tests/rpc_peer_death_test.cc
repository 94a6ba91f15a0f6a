// One of two processes is killed; the other one knows within milliseconds, and goes on.
#include <dirent.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locket/tests/rpc_testing.h"
#include "locket/tests/test_process.h"
#include "locket/transport/deadline.h"

namespace locket::tests {
namespace {

using std::chrono::steady_clock;

TestProcess Peer(const char* mode, const std::string& address) {
  return TestProcess("tests/rpc_peer", {mode, address});
}

// How long after the kill somebody knew of it: recorded, never judged, as the machine may be slow.
void RecordSince(const char* what, int64_t killed_at) {
  const double took = static_cast<double>(transport::MonotonicNanos() - killed_at) / 1e6;
  testing::Test::RecordProperty("milliseconds", std::to_string(took));
  printf("%s after %.2f ms\n", what, took);
}

std::unique_ptr<Echo::Stub> StubFor(const std::string& address) {
  return Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
}

int OpenDescriptors() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

TEST(RpcPeerDeathTest, ServerKilledInTheHandler) {
  const std::string address = UniqueAddress();
  TestProcess server = Peer("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stub = StubFor(address);
  int64_t killed_at = 0;
  std::thread killer([&] {
    EXPECT_EQ(server.ReadLine(), "blocked");
    killed_at = server.Kill();
  });
  const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
  killer.join();
  RecordSince("known", killed_at);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(outcome.status.error_message(), "Socket closed");
  EXPECT_NE(outcome.debug.find(address), std::string::npos) << outcome.debug;
}

TEST(RpcPeerDeathTest, ServerKilledBeforeTheCall) {
  const std::string address = UniqueAddress();
  const auto stub = StubFor(address);
  for (int round = 0; round < 5; ++round) {
    {
      TestProcess server = Peer("serve", address);
      ASSERT_EQ(server.ReadLine(), "ready");
      ASSERT_TRUE(CallEcho(*stub, "").status.ok());
      server.Kill();
    }
    const Outcome outcome = CallEcho(*stub, "");
    EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE)
        << outcome.status.error_message();
  }
  TestProcess server = Peer("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  // The death of the last one may be the first thing that this call sees.
  Outcome outcome = CallEcho(*stub, "next");
  if (!outcome.status.ok()) outcome = CallEcho(*stub, "next");
  EXPECT_EQ(outcome.response.payload(), "next") << outcome.debug;
}

TEST(RpcPeerDeathTest, ServerKilledWhileALargeRequestWaitsForRoom) {
  const std::string address = UniqueAddress();
  TestProcess server = Peer("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stub = StubFor(address);
  ASSERT_TRUE(CallEcho(*stub, "").status.ok());
  std::thread killer([&] { server.Kill(); });
  Outcome outcome;
  const std::string payload(4000000, 'x');
  const auto until = InTime();
  do {
    outcome = CallEcho(*stub, payload);
  } while (outcome.status.ok() && steady_clock::now() < until);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE) << outcome.status.error_message();
  killer.join();
}

TEST(RpcPeerDeathTest, ManyCallersAllHearOfTheServersDeath) {
  const std::string address = UniqueAddress();
  TestProcess server = Peer("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stub = StubFor(address);
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
      EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
    });
  }
  EXPECT_EQ(server.ReadLine(), "blocked");
  server.Kill();
  for (std::thread& caller : callers) caller.join();
}

TEST(RpcPeerDeathTest, ClientKilledInTheHandler) {
  EchoServer server;
  for (int round = 1; round <= 5; ++round) {
    TestProcess client = Peer("block", server.address());
    ASSERT_TRUE(server.service().blocked.WaitFor(round));
    const int64_t killed_at = client.Kill();
    EXPECT_TRUE(server.service().cancelled.WaitFor(round));
    RecordSince("cancelled", killed_at);
    EXPECT_TRUE(CallEcho(*server.NewStub(), "next").status.ok());
  }
}

TEST(RpcPeerDeathTest, DeadClientsLeaveNothingOpen) {
  EchoServer server;
  ASSERT_TRUE(CallEcho(*server.NewStub(), "").status.ok());
  int after_first = 0;
  for (int round = 1; round <= 10; ++round) {
    {
      TestProcess client = Peer("block", server.address());
      ASSERT_TRUE(server.service().blocked.WaitFor(round));
    }
    ASSERT_TRUE(server.service().cancelled.WaitFor(round));
    // The last handler of a dead connection frees it just after it has returned.
    const auto until = InTime();
    while (round > 1 && OpenDescriptors() > after_first && steady_clock::now() < until) {
      std::this_thread::yield();
    }
    if (round == 1) {
      ASSERT_TRUE(server.service().returned.WaitFor(2));
      after_first = OpenDescriptors();
    }
  }
  EXPECT_LE(OpenDescriptors(), after_first);
}

}  // namespace
}  // namespace locket::tests
