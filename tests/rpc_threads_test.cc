// Many threads, many clients, handlers that block.
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locket/tests/rpc_testing.h"

namespace locket::tests {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

void RunThreads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Would reveal a lost hand-over of the reading role (a caller that sleeps for ever), and answers
// that reach another call.
TEST(RpcThreadsTest, ThreadsShareAChannel) {
  EchoServer server;
  const auto stub = server.NewStub();
  RunThreads(16, [&](int thread) {
    for (int i = 0; i < 500; ++i) {
      const std::string payload = std::to_string(thread) + "." + std::to_string(i);
      const Outcome outcome = CallEcho(*stub, payload);
      ASSERT_TRUE(outcome.status.ok()) << outcome.debug;
      ASSERT_EQ(outcome.response.payload(), payload);
    }
  });
}

TEST(RpcThreadsTest, ManyClientsOnOneServer) {
  EchoServer server;
  RunThreads(20, [&](int thread) {
    const auto stub = server.NewStub();
    for (int i = 0; i < 100; ++i) {
      const std::string payload = Pattern(thread * 100 + i, i);
      ASSERT_EQ(CallEcho(*stub, payload).response.payload(), payload);
    }
  });
}

// Would reveal a reader or a follower that leaves at its deadline, or is cancelled, without passing
// the role on; and a late answer that reaches the next call of its id.
TEST(RpcThreadsTest, ThreadsShareAChannelWhileDeadlinesAndCancelsStrike) {
  EchoServer server;
  const auto stub = server.NewStub();
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::atomic<int> completed{0};
  RunThreads(12, [&](int thread) {
    std::minstd_rand random(seed + thread);
    for (int i = 0; i < 300; ++i) {
      const std::string payload = std::to_string(thread) + "." + std::to_string(i);
      Request request;
      request.set_payload(payload);
      Response response;
      ClientContext context;
      const int kind = thread % 3;
      if (kind == 0) {
        context.set_deadline(steady_clock::now() + microseconds(random() % 300));
      } else {
        context.set_deadline(InTime());
      }
      std::thread canceller;
      if (kind == 1 && i % 10 == 0) {
        const int spins = random() % 20000;
        canceller = std::thread([&context, spins] {
          for (int spin = 0; spin < spins; ++spin) asm volatile("");
          context.TryCancel();
        });
      }
      const Status status = stub->Call(&context, request, &response);
      if (canceller.joinable()) canceller.join();
      if (status.ok()) {
        ASSERT_EQ(response.payload(), payload);
        completed.fetch_add(1);
      } else if (kind == 0) {
        ASSERT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED) << status.error_message();
      } else {
        ASSERT_EQ(kind, 1) << status.error_message();
        ASSERT_EQ(status.error_code(), StatusCode::CANCELLED) << status.error_message();
      }
    }
  });
  EXPECT_GT(completed, 1200);
}

TEST(RpcThreadsTest, AHandlerThatBlocksDoesNotDelayOthersForLong) {
  EchoServer server;
  const auto stub = server.NewStub();
  std::thread blocked([&] { EXPECT_TRUE(Call(*stub, MakeRequest(Request::BLOCK)).status.ok()); });
  ASSERT_TRUE(server.service().blocked.WaitFor(1));
  const auto other = server.NewStub();
  for (const auto& beside : {other.get(), stub.get()}) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(CallEcho(*beside, "").status.ok());
  }
  EXPECT_EQ(server.service().returned.value(), 200);
  server.service().gate.Add();
  blocked.join();
}

TEST(RpcThreadsTest, FiftyHandlersBlockAtOnce) {
  EchoServer server;
  const auto stub = server.NewStub();
  std::thread opener([&] {
    EXPECT_TRUE(server.service().blocked.WaitFor(50));
    EXPECT_TRUE(CallEcho(*stub, "").status.ok());
    server.service().gate.Add();
  });
  RunThreads(50, [&](int) {
    const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
    EXPECT_EQ(outcome.response.payload(), "gate") << outcome.status.error_message();
  });
  opener.join();
}

TEST(RpcThreadsTest, ACancelIsSeenByARunningHandlerSoon) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (int i = 1; i <= 10; ++i) {
    ClientContext context;
    std::thread canceller([&] {
      EXPECT_TRUE(server.service().blocked.WaitFor(i));
      context.TryCancel();
    });
    Response response;
    EXPECT_EQ(stub->Call(&context, MakeRequest(Request::BLOCK), &response).error_code(),
              StatusCode::CANCELLED);
    EXPECT_TRUE(server.service().cancelled.WaitFor(i));
    canceller.join();
  }
}

TEST(RpcThreadsTest, AHandlerMayCallItsOwnServer) {
  class Nested final : public Echo::Service {
   public:
    Status Call(ServerContext*, const Request* request, Response* response) override {
      if (request->payload().empty()) return Status::OK;
      Request inner;
      inner.set_payload(request->payload().substr(1));
      ClientContext context;
      context.set_deadline(InTime());
      const Status status = stub->Call(&context, inner, response);
      response->set_number(response->number() + 1);
      return status;
    }
    std::unique_ptr<Echo::Stub> stub;
  } service;
  const std::string address = UniqueAddress();
  ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(address, InsecureServerCredentials());
  const std::unique_ptr<Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  service.stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
  const Outcome outcome = CallEcho(*service.stub, std::string(10, 'x'));
  EXPECT_TRUE(outcome.status.ok()) << outcome.debug;
  EXPECT_EQ(outcome.response.number(), 10);
}

// Connections come and go while others talk; would reveal what a dead one leaves behind.
TEST(RpcThreadsTest, ClientsComeAndGo) {
  EchoServer server;
  RunThreads(4, [&](int) {
    for (int i = 0; i < 50; ++i) {
      const auto stub = server.NewStub();
      ASSERT_TRUE(CallEcho(*stub, "").status.ok());
    }
  });
}

}  // namespace
}  // namespace locket::tests
