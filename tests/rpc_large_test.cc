// Messages larger than a record and than the ring (1 MiB), both ways.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locket/tests/rpc_testing.h"

namespace locket::tests {
namespace {

constexpr size_t kRing = size_t{1} << 20;

std::unique_ptr<Echo::Stub> UnlimitedStub(const EchoServer& server) {
  ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return Echo::NewStub(
      CreateCustomChannel(server.address(), InsecureChannelCredentials(), arguments));
}

EchoServer UnlimitedServer() {
  return EchoServer([](ServerBuilder& builder) { builder.SetMaxReceiveMessageSize(-1); });
}

TEST(RpcLargeTest, SizesAroundTheRingCrossBothWays) {
  EchoServer server = UnlimitedServer();
  const auto stub = UnlimitedStub(server);
  for (const size_t size : {kRing / 4, kRing - 1, kRing, kRing + 1, 10 * kRing, 16 * kRing}) {
    const std::string payload = Pattern(size, static_cast<unsigned>(size));
    const Outcome outcome = CallEcho(*stub, payload);
    ASSERT_TRUE(outcome.status.ok()) << size << ": " << outcome.debug;
    ASSERT_TRUE(outcome.response.payload() == payload) << size;
  }
}

// Would reveal a deadlock of two full rings, and pieces that reach another call.
TEST(RpcLargeTest, ManyLargeMessagesAtOnceOnOneChannel) {
  EchoServer server = UnlimitedServer();
  const auto stub = UnlimitedStub(server);
  std::vector<std::thread> callers;
  for (unsigned caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&stub, caller] {
      for (unsigned i = 0; i < 4; ++i) {
        const std::string payload = Pattern(kRing / 2 * (1 + (caller + i) % 8), caller * 100 + i);
        const Outcome outcome = CallEcho(*stub, payload);
        EXPECT_TRUE(outcome.status.ok()) << outcome.debug;
        EXPECT_TRUE(outcome.response.payload() == payload) << caller << " " << i;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// Would reveal a large message that keeps the ring to itself.
TEST(RpcLargeTest, SmallCallsGoOnBesideLargeOnes) {
  EchoServer server = UnlimitedServer();
  const auto stub = UnlimitedStub(server);
  std::atomic<bool> stop{false};
  std::thread large([&] {
    const std::string payload = Pattern(4 * kRing, 1);
    while (!stop) {
      const Outcome outcome = CallEcho(*stub, payload);
      EXPECT_TRUE(outcome.status.ok() && outcome.response.payload() == payload);
    }
  });
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(CallEcho(*stub, std::to_string(i)).response.payload(), std::to_string(i));
  }
  stop = true;
  large.join();
}

// A request that is cut short by its deadline must not reach the handler, nor stop later calls.
TEST(RpcLargeTest, ADeadlineWithinALargeRequestLeavesNothingBehind) {
  EchoServer server = UnlimitedServer();
  const auto stub = UnlimitedStub(server);
  ASSERT_TRUE(CallEcho(*stub, "connected").status.ok());
  Request request;
  request.set_payload(Pattern(16 * kRing, 3));
  int cut_short = 0;
  for (int i = 0; i < 40; ++i) {
    ClientContext context;
    context.set_deadline(std::chrono::steady_clock::now() + std::chrono::microseconds(500 * i));
    Response response;
    const Status status = stub->Call(&context, request, &response);
    if (status.ok()) {
      EXPECT_TRUE(response.payload() == request.payload());
    } else {
      EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED) << status.error_message();
      ++cut_short;
    }
    ASSERT_EQ(CallEcho(*stub, "next").response.payload(), "next") << i;
  }
  EXPECT_GT(cut_short, 0);
}

TEST(RpcLargeTest, ALargeResponseThatNobodyWantsAnyMoreEnds) {
  EchoServer server = UnlimitedServer();
  const auto stub = UnlimitedStub(server);
  Request request = MakeRequest(Request::GENERATE);
  request.set_response_size(32 * kRing);
  for (int i = 1; i <= 4; ++i) {
    ClientContext context;
    std::thread canceller([&] {
      EXPECT_TRUE(server.service().returned.WaitFor(2 * i - 1));  // It is being sent.
      context.TryCancel();
    });
    Response response;
    const Status status = stub->Call(&context, request, &response);
    canceller.join();
    EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::CANCELLED);
    ASSERT_EQ(CallEcho(*stub, "next").response.payload(), "next") << i;
  }
}

}  // namespace
}  // namespace locket::tests
