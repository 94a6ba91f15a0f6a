// The client's end where it is short of something: of ids, of time, of its own process.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/tests/bare_client.h"
#include "locket/tests/rpc_testing.h"
#include "locket/transport/endpoint.h"

namespace locket::tests {
namespace {

using transport::Deadline;

struct Shortage {
  uint32_t ids;
  int threads;
};

class FewIdsTest : public ::testing::TestWithParam<Shortage> {};

INSTANTIATE_TEST_SUITE_P(All, FewIdsTest,
                         ::testing::Values(Shortage{1, 2}, Shortage{1, 8}, Shortage{3, 8}),
                         [](const auto& info) {
                           return std::to_string(info.param.ids) + "For" +
                                  std::to_string(info.param.threads);
                         });

// Would reveal: an id given to a thread that sleeps in the reading role, a call lost from the queue
// for ids, an id given twice.
TEST_P(FewIdsTest, EveryCallGetsItsTurnAndItsOwnAnswer) {
  EchoServer server;
  transport::ConnectOptions options;
  options.block = internal::EncodeHandshake(internal::Handshake());
  auto connection = transport::Connect(server.address(), options, Deadline::After(kPatience));
  ASSERT_TRUE(connection.ok()) << connection.status();
  auto agreement = internal::AgreeAsClient(internal::Handshake(), (*connection)->peer_block());
  ASSERT_TRUE(agreement.ok()) << agreement.status();
  agreement->calls_in_flight = GetParam().ids;
  BareClient client(*std::move(connection), *agreement, server.address());

  const internal::RpcMethod method("/locket.tests.Echo/Call");
  std::atomic<int> late{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < GetParam().threads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        ClientContext context;
        // Some calls give up at once, wherever they stand.
        const bool hasty = i % 7 == 3;
        context.set_deadline(
            std::chrono::steady_clock::now() +
            (hasty ? std::chrono::microseconds(20) : std::chrono::microseconds(kPatience)));
        Request request;
        // Now and then one that crosses in pieces.
        const std::string payload = std::to_string(t) + "/" + std::to_string(i) +
                                    std::string(i % 50 == 0 ? 300'000 : 0, 'x');
        request.set_payload(payload);
        Response response;
        const Status status = client.Call(method, context, request, &response).status;
        if (status.ok()) {
          EXPECT_EQ(response.payload(), payload);
        } else {
          EXPECT_EQ(status.error_code(), DEADLINE_EXCEEDED) << status.error_message();
          if (!hasty) ++late;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(late, 0);
}

TEST(RpcClientTest, ADeadlineInThePastEndsTheCallBeforeAnythingElse) {
  const auto stub = Echo::NewStub(CreateChannel(UniqueAddress(), InsecureChannelCredentials()));
  ClientContext context;
  context.set_deadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  Response response;
  const Status status = stub->Call(&context, Request(), &response);
  EXPECT_EQ(status.error_code(), DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "Deadline Exceeded");
}

TEST(RpcClientTest, ACallThatIsCancelledBeforehandDoesNotConnect) {
  const auto stub = Echo::NewStub(CreateChannel(UniqueAddress(), InsecureChannelCredentials()));
  ClientContext context;
  context.TryCancel();
  Response response;
  const Status status = stub->Call(&context, Request(), &response);
  EXPECT_EQ(status.error_code(), CANCELLED);
  EXPECT_EQ(status.error_message(), "CANCELLED");
}

TEST(RpcClientTest, AChannelInAForkedChildFailsAndLeavesTheParentsAlone) {
  EchoServer server;
  auto channel = CreateChannel(server.address(), InsecureChannelCredentials());
  auto stub = Echo::NewStub(channel);
  ASSERT_TRUE(CallEcho(*stub, "before").status.ok());
  // One leads, another sleeps beside it, while this thread forks.
  std::thread blocked[2];
  for (std::thread& each : blocked) {
    each = std::thread([&] { EXPECT_TRUE(Call(*stub, MakeRequest(Request::BLOCK)).status.ok()); });
  }
  ASSERT_TRUE(server.service().blocked.WaitFor(2));
  const pid_t child = fork();
  if (child == 0) {
    ClientContext context;
    Response response;
    const Status status = stub->Call(&context, Request(), &response);
    const bool named = status.error_message().find(server.address()) != std::string::npos;
    // What another thread of the parent had locked at the fork stays locked here.
    stub = nullptr;
    channel = nullptr;
    _exit(named ? status.error_code() : 255);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), FAILED_PRECONDITION);
  EXPECT_TRUE(CallEcho(*stub, "after").status.ok());
  server.service().gate.Add();
  for (std::thread& each : blocked) each.join();
}

}  // namespace
}  // namespace locket::tests
