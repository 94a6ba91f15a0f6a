// How a server ends, and what its clients see of it.
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "locket/rpc/internal/frame.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/server_core.h"
#include "locket/tests/rpc_testing.h"
#include "locket/transport/endpoint.h"

namespace locket::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(RpcShutdownTest, ANewCallAfterItIsUnavailable) {
  EchoServer server;
  const auto stub = server.NewStub();
  ASSERT_TRUE(CallEcho(*stub, "").status.ok());
  server.server().Shutdown();
  const Outcome outcome = CallEcho(*stub, "");
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
}

TEST(RpcShutdownTest, RunningHandlersMayFinishAndNewCallsAreRefused) {
  EchoServer server;
  const auto stub = server.NewStub();
  std::thread running([&] {
    const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
    EXPECT_EQ(outcome.response.payload(), "gate") << outcome.debug;
  });
  ASSERT_TRUE(server.service().blocked.WaitFor(1));
  std::thread shutdown([&] { server.server().Shutdown(); });
  // The same connection: GOAWAY, then a new connection, which nobody takes.
  Outcome outcome;
  const auto until = InTime();
  do {
    outcome = CallEcho(*stub, "");
  } while (outcome.status.ok() && steady_clock::now() < until);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_NE(outcome.status.error_message().find("failed to connect to all addresses"),
            std::string::npos)
      << outcome.status.error_message();
  server.service().gate.Add();
  running.join();
  shutdown.join();
}

// Many calls: would reveal a handler that sees the cancellation and answers before Shutdown() does.
TEST(RpcShutdownTest, ADeadlineCancelsWhatStillRuns) {
  constexpr int kCalls = 32;
  EchoServer server;
  const auto stub = server.NewStub();
  std::vector<std::thread> running;
  for (int i = 0; i < kCalls; ++i) {
    running.emplace_back([&] {
      const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
      EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
      EXPECT_EQ(outcome.status.error_message(), "Cancelling all calls");
    });
  }
  EXPECT_TRUE(server.service().blocked.WaitFor(kCalls));
  const auto start = steady_clock::now();
  server.server().Shutdown(std::chrono::system_clock::now() + milliseconds(20));
  EXPECT_GE(steady_clock::now() - start, milliseconds(19));
  for (std::thread& each : running) each.join();
  EXPECT_EQ(server.service().cancelled.value(), kCalls) << "the handlers saw it";
  EXPECT_EQ(server.service().returned.value(), kCalls) << "Shutdown waited for them";
}

// The client's answer does not wait for a handler that takes no notice.
TEST(RpcShutdownTest, TheClientHearsBeforeADeafHandlerReturns) {
  class Deaf final : public Echo::Service {
   public:
    Status Call(ServerContext*, const Request*, Response*) override {
      entered.Add();
      EXPECT_TRUE(go_on.WaitFor(1));
      return Status::OK;
    }
    Counter entered;
    Counter go_on;
  } service;
  const std::string address = UniqueAddress();
  ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(address, InsecureServerCredentials());
  std::unique_ptr<Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  std::thread running([&] {
    const auto stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
    const Outcome outcome = Call(*stub, Request());
    EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(outcome.status.error_message(), "Cancelling all calls");
    service.go_on.Add();  // Not before the client has heard.
  });
  ASSERT_TRUE(service.entered.WaitFor(1));
  server->Shutdown(std::chrono::system_clock::now());
  EXPECT_EQ(service.go_on.value(), 1);
  running.join();
}

TEST(RpcShutdownTest, WaitReturnsAfterShutdownOnly) {
  EchoServer server;
  Counter waited;
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
      server.server().Wait();
      waited.Add();
    });
  }
  ASSERT_TRUE(CallEcho(*server.NewStub(), "").status.ok());
  EXPECT_EQ(waited.value(), 0);
  server.server().Shutdown();
  EXPECT_TRUE(waited.WaitFor(3));
  for (std::thread& waiter : waiters) waiter.join();
  server.server().Shutdown();  // Once more is nothing.
  server.server().Wait();
}

TEST(RpcShutdownTest, TheAddressIsFreeAtOnce) {
  const std::string address = UniqueAddress();
  EchoService service;
  for (int i = 0; i < 20; ++i) {
    ServerBuilder builder;
    builder.RegisterService(&service);
    builder.AddListeningPort(address, InsecureServerCredentials());
    std::unique_ptr<Server> server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr) << i;
    const auto stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
    ASSERT_TRUE(CallEcho(*stub, "").status.ok());
  }
}

// Would reveal a Shutdown() that misses a call which begins or ends in the same instant.
TEST(RpcShutdownTest, UnderLoadEveryCallEndsOnce) {
  for (int round = 0; round < 10; ++round) {
    EchoServer server;
    std::vector<std::thread> callers;
    Counter first;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        const auto stub = server.NewStub();
        while (true) {
          const Outcome outcome = CallEcho(*stub, "x");
          if (!outcome.status.ok()) {
            EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE)
                << outcome.status.error_message();
            break;
          }
          EXPECT_EQ(outcome.response.payload(), "x");
          first.Add();
        }
      });
    }
    EXPECT_TRUE(first.WaitFor(100));
    server.server().Shutdown();
    for (std::thread& caller : callers) caller.join();
  }
}

// The client's end of a new connection to `core`, through a small ring.
std::unique_ptr<transport::Connection> BareClient(internal::ServerCore& core) {
  transport::ListenOptions listen;
  listen.ring_size = 4096;
  listen.negotiate = [](const std::string&) {
    return absl::StatusOr<std::string>(internal::EncodeHandshake(internal::Handshake()));
  };
  transport::ConnectOptions connect;
  connect.block = internal::EncodeHandshake(internal::Handshake());
  absl::StatusOr<transport::ConnectionPair> pair = transport::CreatePair(listen, connect);
  EXPECT_TRUE(pair.ok()) << pair.status();
  core.Adopt(std::move(pair->accepting));
  return std::move(pair->connecting);
}

// Calls a method that does not exist. False where there is no room.
bool CallNothing(transport::Connection& client, uint32_t id) {
  constexpr char kName[] = "/no/such";
  const internal::StartHeader header =
      internal::MakeStart(id, internal::kUnboundMethod, sizeof(kName) - 1, 0, 0);
  uint8_t* out = client.TryReserve(sizeof(header) + sizeof(kName) - 1);
  if (out == nullptr) return false;
  std::memcpy(out, &header, sizeof(header));
  std::memcpy(out + sizeof(header), kName, sizeof(kName) - 1);
  client.Commit(sizeof(header) + sizeof(kName) - 1);
  return true;
}

// Would reveal a Shutdown() that waits for room to refuse a call, in the ring of a client that does
// not read. The call should come when Shutdown() has just found that nothing runs: many connections
// make it look for a while, and each tells its client that it is about to. (It seldom does. With a
// pause in front of ServerThreads::Stop() it always does.)
TEST(RpcShutdownTest, ALateCallOfAClientThatDoesNotReadHoldsNothingUp) {
  EchoService service;
  for (int round = 0; round < 10; ++round) {
    internal::ServiceMethods methods;
    ASSERT_TRUE(methods.AddService(service).ok());
    auto core = internal::ServerCore::Create(std::move(methods), internal::ServerLimits());
    ASSERT_TRUE(core.ok()) << core.status();
    std::vector<std::unique_ptr<transport::Connection>> idle;
    for (int i = 0; i < 40; ++i) idle.push_back(BareClient(**core));
    const std::unique_ptr<transport::Connection> full = BareClient(**core);
    // The FINISH of each takes 64 bytes, and one line of the ring stays free.
    for (uint32_t id = 0; id < 63;) {
      if (CallNothing(*full, id)) ++id;
    }

    Counter over;
    std::thread shutdown([&] {
      (*core)->Shutdown(transport::Deadline::After(milliseconds(20)));
      over.Add();
    });
    transport::Record record;
    for (const auto& client : idle) {  // GOAWAY
      while (client->TryReceive(&record) == transport::ReadResult::kEmpty) {
      }
    }
    const int64_t go = transport::MonotonicNanos() + round % 10 * 500;
    while (transport::MonotonicNanos() < go) {
    }
    CallNothing(*full, 63);
    EXPECT_TRUE(over.WaitFor(1)) << round;
    full->Close(absl::UnavailableError("the test is over"));
    shutdown.join();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace locket::tests
