// Unary calls between a client and a server in one process, over the real transport.
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locket/tests/rpc_testing.h"

namespace locket::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(RpcUnaryTest, ARequestIsAnswered) {
  EchoServer server;
  const auto stub = server.NewStub();
  const Outcome outcome = CallEcho(*stub, "hello");
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.error_message() << outcome.debug;
  EXPECT_EQ(outcome.response.payload(), "hello");
  EXPECT_EQ(outcome.debug, "");
}

TEST(RpcUnaryTest, EmptyMessagesAreMessages) {
  EchoServer server;
  const auto stub = server.NewStub();
  ClientContext context;
  Response response;
  response.set_payload("to be cleared");
  ASSERT_TRUE(stub->Call(&context, Request(), &response).ok());
  EXPECT_EQ(response.payload(), "");
}

TEST(RpcUnaryTest, ManyCallsOnOneChannel) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (int i = 0; i < 10000; ++i) {
    const Outcome outcome = CallEcho(*stub, std::to_string(i));
    ASSERT_TRUE(outcome.status.ok()) << i << " " << outcome.debug;
    ASSERT_EQ(outcome.response.payload(), std::to_string(i));
  }
}

TEST(RpcUnaryTest, EverySizeAroundTheBordersOfRecords) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (const size_t border : {0, 24, 56, 216, 256, 4096, 64 * 1024, 256 * 1024}) {
    for (int offset = -70; offset <= 70; ++offset) {
      const int64_t size = static_cast<int64_t>(border) + offset;
      if (size < 0) continue;
      const std::string payload = Pattern(size, offset);
      const Outcome outcome = CallEcho(*stub, payload);
      ASSERT_TRUE(outcome.status.ok()) << size << " " << outcome.debug;
      ASSERT_EQ(outcome.response.payload(), payload) << size;
    }
  }
}

TEST(RpcUnaryTest, StatusArrivesAsGiven) {
  EchoServer server;
  const auto stub = server.NewStub();
  Request request = MakeRequest(Request::FAIL);
  const std::string bytes("\t\ntest with whitespace\r\nand Unicode BMP \xe2\x98\xba \0\xff%", 47);
  request.set_text(bytes);
  request.set_details(std::string("d\0\xff", 3));
  for (int code : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 42}) {
    request.set_code(code);
    const Outcome outcome = Call(*stub, request);
    EXPECT_EQ(static_cast<int>(outcome.status.error_code()), code);
    EXPECT_EQ(outcome.status.error_message(), bytes);
    EXPECT_EQ(outcome.status.error_details(), request.details());
    EXPECT_EQ(outcome.response.payload(), "") << "a failed call has no response";
  }
}

TEST(RpcUnaryTest, AnOkStatusHasNoText) {
  EchoServer server;
  const auto stub = server.NewStub();
  Request request = MakeRequest(Request::FAIL);
  request.set_code(0);
  request.set_text("text");
  const Outcome outcome = Call(*stub, request);
  EXPECT_TRUE(outcome.status.ok());
  EXPECT_EQ(outcome.status.error_message(), "");
}

TEST(RpcUnaryTest, LongTextsAreCutRatherThanFailed) {
  EchoServer server;
  const auto stub = server.NewStub();
  Request request = MakeRequest(Request::FAIL);
  request.set_code(StatusCode::ABORTED);
  request.set_text(std::string(1000000, 'x'));
  const Outcome outcome = Call(*stub, request);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(outcome.status.error_message(), std::string(8192, 'x'));
}

TEST(RpcUnaryTest, UnknownMethodsAndDefaultMethodsAreUnimplemented) {
  EchoServer server;
  const auto channel = CreateChannel(server.address(), InsecureChannelCredentials());
  for (int i = 0; i < 3; ++i) {
    Response response;
    ClientContext default_method;
    Status status = Echo::NewStub(channel)->Missing(&default_method, Request(), &response);
    EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
    EXPECT_EQ(status.error_message(), "");
    for (const char* path : {"/locket.tests.Echo/Nowhere", "/no.Service/Call", "no slash"}) {
      ClientContext context;
      status = internal::BlockingUnaryCall(channel.get(), internal::RpcMethod(path), &context,
                                           Request(), &response);
      EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED) << path;
      EXPECT_EQ(status.error_message(), "") << path;
    }
  }
  EXPECT_TRUE(CallEcho(*Echo::NewStub(channel), "and it lives").status.ok());
}

// More names than numbers: the last ones travel with each call.
TEST(RpcUnaryTest, AnyNumberOfMethodNames) {
  EchoServer server;
  const auto channel = CreateChannel(server.address(), InsecureChannelCredentials());
  const auto stub = Echo::NewStub(channel);
  for (int i = 0; i < 3000; ++i) {
    ClientContext context;
    Response response;
    const std::string path = "/many.Service/Method" + std::to_string(i % 1500);
    EXPECT_EQ(internal::BlockingUnaryCall(channel.get(), internal::RpcMethod(path.c_str()),
                                          &context, Request(), &response)
                  .error_code(),
              StatusCode::UNIMPLEMENTED);
  }
  EXPECT_TRUE(CallEcho(*stub, "unbound").status.ok());
  EXPECT_TRUE(CallEcho(*stub, "unbound again").status.ok());
}

TEST(RpcUnaryTest, AHandlerThatThrowsCostsItsCallOnly) {
  EchoServer server;
  const auto stub = server.NewStub();
  const Outcome outcome = Call(*stub, MakeRequest(Request::THROW));
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(outcome.status.error_message(), "Unexpected error in RPC handling");
  EXPECT_TRUE(CallEcho(*stub, "next").status.ok());
}

TEST(RpcUnaryTest, ARequestThatDoesNotParseIsInternal) {
  EchoServer server;
  const auto channel = CreateChannel(server.address(), InsecureChannelCredentials());
  NotARequest request;
  request.set_utf8("\xff");
  ClientContext context;
  Response response;
  const Status status = internal::BlockingUnaryCall(
      channel.get(), internal::RpcMethod("/locket.tests.Echo/Call"), &context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "");
  EXPECT_EQ(server.service().returned.value(), 0);
}

TEST(RpcUnaryTest, AResponseThatDoesNotParseIsUnimplemented) {
  EchoServer server;
  const auto channel = CreateChannel(server.address(), InsecureChannelCredentials());
  Request request;
  request.set_payload("\xff");
  ClientContext context;
  NotAResponse response;
  const Status status = internal::BlockingUnaryCall(
      channel.get(), internal::RpcMethod("/locket.tests.Echo/Call"), &context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status.error_message(), "No message returned for unary request");
  EXPECT_EQ(response.payload(), "");
  EXPECT_NE(context.debug_error_string().find("NotAResponse"), std::string::npos);
}

TEST(RpcUnaryTest, RequestsAboveTheLimitAreRefusedAndTheConnectionLives) {
  EchoServer server([](ServerBuilder& builder) { builder.SetMaxReceiveMessageSize(1000); });
  const auto stub = server.NewStub();
  for (const size_t size : {998, 1000, 100000, 3000000}) {
    const Outcome outcome = CallEcho(*stub, std::string(size, 'x'));
    const size_t encoded = [&] {
      Request request;
      request.set_payload(std::string(size, 'x'));
      return request.ByteSizeLong();
    }();
    EXPECT_EQ(outcome.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(outcome.status.error_message(),
              "Received message larger than max (" + std::to_string(encoded) + " vs. 1000)");
    EXPECT_TRUE(CallEcho(*stub, std::string(900, 'x')).status.ok());
  }
}

TEST(RpcUnaryTest, TheDefaultLimitIsFourMebibytes) {
  EchoServer server;
  const auto stub = server.NewStub();
  const Outcome outcome = CallEcho(*stub, std::string(4 << 20, 'x'));
  EXPECT_EQ(outcome.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(outcome.status.error_message(),
            "Received message larger than max (4194309 vs. 4194304)");
  EXPECT_TRUE(CallEcho(*stub, std::string((4 << 20) - 5, 'x')).status.ok());
}

TEST(RpcUnaryTest, ResponsesAboveTheClientsLimitAreRefused) {
  EchoServer server;
  const auto stub = server.NewStub();
  Request request = MakeRequest(Request::GENERATE);
  for (const int64_t size : {5 << 20, 16 << 20}) {
    request.set_response_size(size);
    const Outcome outcome = Call(*stub, request);
    EXPECT_EQ(outcome.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(outcome.status.error_message(),
              "Received message larger than max (" + std::to_string(size + 5) + " vs. 4194304)");
    EXPECT_EQ(CallEcho(*stub, "next").response.payload(), "next");
  }
  ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(10);
  const auto small =
      Echo::NewStub(CreateCustomChannel(server.address(), InsecureChannelCredentials(), arguments));
  EXPECT_EQ(CallEcho(*small, "eleven bytes").status.error_message(),
            "Received message larger than max (14 vs. 10)");
  EXPECT_TRUE(CallEcho(*small, "short").status.ok());
}

TEST(RpcUnaryTest, SendLimitsHoldOnBothSides) {
  EchoServer server([](ServerBuilder& builder) { builder.SetMaxSendMessageSize(10); });
  EXPECT_EQ(CallEcho(*server.NewStub(), "sixteen bytes ok").status.error_message(),
            "Sent message larger than max (18 vs. 10)");
  ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(5);
  const auto stub =
      Echo::NewStub(CreateCustomChannel(server.address(), InsecureChannelCredentials(), arguments));
  const Outcome outcome = CallEcho(*stub, "long");
  EXPECT_EQ(outcome.status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(outcome.status.error_message(), "Sent message larger than max (6 vs. 5)");
}

// ---- Deadlines and cancellation

TEST(RpcUnaryTest, TheDeadlineEndsACallWhoseHandlerIsSlow) {
  EchoServer server;
  const auto stub = server.NewStub();
  ASSERT_TRUE(CallEcho(*stub, "connected").status.ok());
  ClientContext context;
  const auto start = steady_clock::now();
  context.set_deadline(start + milliseconds(50));
  Response response;
  const Status status = stub->Call(&context, MakeRequest(Request::BLOCK), &response);
  const auto took = steady_clock::now() - start;
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status.error_message(), "Deadline Exceeded");
  EXPECT_GE(took, milliseconds(50));
  EXPECT_TRUE(server.service().cancelled.WaitFor(1)) << "the handler saw it";
  EXPECT_EQ(CallEcho(*stub, "next").response.payload(), "next");
}

TEST(RpcUnaryTest, ADeadlineInThePastNeverReachesTheServer) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (int i = 0; i < 2; ++i) {  // Without a connection, then with one.
    ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() - milliseconds(1));
    Response response;
    const Status status = stub->Call(&context, Request(), &response);
    EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.error_message(), "Deadline Exceeded");
    EXPECT_EQ(server.service().returned.value(), i);
    EXPECT_TRUE(CallEcho(*stub, "").status.ok());
  }
}

TEST(RpcUnaryTest, TheHandlerKnowsTheTimeLeft) {
  EchoServer server;
  const auto stub = server.NewStub();
  ClientContext with;
  with.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(1));
  Response response;
  ASSERT_TRUE(stub->Call(&with, MakeRequest(Request::DEADLINE), &response).ok());
  EXPECT_GT(response.number(), 3'000'000);  // Milliseconds.
  EXPECT_LE(response.number(), 3'600'000);
  ClientContext without;
  ASSERT_TRUE(stub->Call(&without, MakeRequest(Request::DEADLINE), &response).ok());
  EXPECT_EQ(response.number(), -1);
}

TEST(RpcUnaryTest, CancelFromAnotherThreadEndsTheCallAtOnce) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (int i = 1; i <= 20; ++i) {
    ClientContext context;
    std::thread canceller([&] {
      EXPECT_TRUE(server.service().blocked.WaitFor(i));
      context.TryCancel();
    });
    Response response;
    const Status status = stub->Call(&context, MakeRequest(Request::BLOCK), &response);
    canceller.join();
    EXPECT_EQ(status.error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(status.error_message(), "CANCELLED");
    EXPECT_TRUE(server.service().cancelled.WaitFor(i)) << "the handler saw it";
  }
  EXPECT_TRUE(CallEcho(*stub, "next").status.ok());
}

TEST(RpcUnaryTest, CancelBeforeTheCallNeverReachesTheServer) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (int i = 0; i < 2; ++i) {
    ClientContext context;
    context.TryCancel();
    Response response;
    const Status status = stub->Call(&context, Request(), &response);
    EXPECT_EQ(status.error_code(), StatusCode::CANCELLED);
    EXPECT_EQ(status.error_message(), "CANCELLED");
    EXPECT_EQ(server.service().returned.value(), i);
    EXPECT_TRUE(CallEcho(*stub, "").status.ok());
  }
}

// Would reveal a TryCancel() that reaches a call object after it went to another call.
TEST(RpcUnaryTest, CancelAtAnyInstantHitsItsOwnCallOnly) {
  EchoServer server;
  const auto stub = server.NewStub();
  for (int i = 0; i < 2000; ++i) {
    ClientContext context;
    std::atomic<bool> go{false};
    std::thread canceller([&] {
      while (!go) {
      }
      for (int spin = 0; spin < i % 50 * 20; ++spin) asm volatile("");
      context.TryCancel();
    });
    go = true;
    Response response;
    const Status status = stub->Call(&context, Request(), &response);
    EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::CANCELLED);
    const Outcome next = CallEcho(*stub, "next");
    ASSERT_TRUE(next.status.ok()) << next.status.error_message();
    canceller.join();
  }
}

TEST(RpcUnaryTest, TheServersCancelWinsOverALaterOk) {
  EchoServer server;
  const auto stub = server.NewStub();
  const Outcome outcome = Call(*stub, MakeRequest(Request::TRY_CANCEL));
  EXPECT_EQ(outcome.status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(outcome.status.error_message(), "Cancelled on the server side");
  EXPECT_TRUE(CallEcho(*stub, "next").status.ok());
}

// ---- Connecting

TEST(RpcUnaryTest, NobodyListening) {
  const std::string path = "/tmp/locket-nobody-" + std::to_string(getpid());
  const auto stub = Echo::NewStub(CreateChannel("unix:" + path, InsecureChannelCredentials()));
  const Outcome outcome = CallEcho(*stub, "");
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(outcome.status.error_message(),
            "failed to connect to all addresses; last error: UNKNOWN: unix:" + path +
                ": No such file or directory");
  EXPECT_NE(outcome.debug, "");
}

TEST(RpcUnaryTest, LameChannelsFailEachCall) {
  const auto no_credentials = Echo::NewStub(CreateChannel(UniqueAddress(), nullptr));
  Outcome outcome = CallEcho(*no_credentials, "");
  EXPECT_EQ(outcome.status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(outcome.status.error_message(), "Invalid credentials.");
  const auto no_target = Echo::NewStub(CreateChannel("", InsecureChannelCredentials()));
  outcome = CallEcho(*no_target, "");
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(outcome.status.error_message(), "Failed to create secure client channel");
}

TEST(RpcUnaryTest, AChannelReconnectsAfterTheServersReturn) {
  EchoService service;
  const std::string address = UniqueAddress();
  const auto stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(CallEcho(*stub, "").status.error_code(), StatusCode::UNAVAILABLE);
    ServerBuilder builder;
    builder.RegisterService(&service);
    builder.AddListeningPort(address, InsecureServerCredentials());
    const std::unique_ptr<Server> server = builder.BuildAndStart();
    ASSERT_NE(server, nullptr);
    EXPECT_TRUE(CallEcho(*stub, "").status.ok());
  }
}

TEST(RpcUnaryTest, PeerNamesTheOtherSide) {
  EchoServer server;
  const auto stub = server.NewStub();
  ClientContext context;
  EXPECT_EQ(context.peer(), "");
  Response response;
  ASSERT_TRUE(stub->Call(&context, MakeRequest(Request::PEER), &response).ok());
  EXPECT_EQ(context.peer(), server.address());
  EXPECT_EQ(response.payload(), "unix:");
}

// ---- Starting

struct SeenLog {
  std::mutex mutex;
  std::string text;
};

std::string LogOf(const std::function<void()>& body) {
  auto seen = std::make_shared<SeenLog>();
  SetLogSink([seen](LogSeverity, std::string_view message) {
    std::lock_guard<std::mutex> lock(seen->mutex);
    seen->text += std::string(message) + "\n";
  });
  body();
  SetLogSink(nullptr);
  std::lock_guard<std::mutex> lock(seen->mutex);
  return seen->text;
}

TEST(RpcStartTest, TheLogSaysWhyAServerDidNotStart) {
  EchoServer first;
  EchoService service;
  std::string log = LogOf([&] {
    ServerBuilder builder;
    builder.RegisterService(&service);
    int port = 77;
    builder.AddListeningPort(first.address(), InsecureServerCredentials(), &port);
    EXPECT_EQ(builder.BuildAndStart(), nullptr) << "the address is taken";
    EXPECT_EQ(port, 77);
  });
  EXPECT_NE(log.find(first.address().substr(14)), std::string::npos) << log;

  log = LogOf([&] {
    ServerBuilder builder;
    builder.AddListeningPort(UniqueAddress(), InsecureServerCredentials());
    EXPECT_EQ(builder.BuildAndStart(), nullptr) << "nothing is registered";
  });
  EXPECT_NE(log.find("no service"), std::string::npos) << log;

  log = LogOf([&] {
    EchoService again;
    ServerBuilder builder;
    builder.RegisterService(&service).RegisterService(&again);
    builder.AddListeningPort(UniqueAddress(), InsecureServerCredentials());
    EXPECT_EQ(builder.BuildAndStart(), nullptr) << "two services of one name";
  });
  EXPECT_NE(log.find("/locket.tests.Echo/Call"), std::string::npos) << log;
}

TEST(RpcStartTest, UnixSocketsSelectPortOne) {
  EchoService service;
  int port = 0;
  ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort(UniqueAddress(), InsecureServerCredentials(), &port);
  const std::unique_ptr<Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(port, 1);
}

TEST(RpcStartTest, PortZeroIsAFreePortThatAllSpellingsReach) {
  EchoService service;
  int port = 0;
  ServerBuilder builder;
  builder.RegisterService(&service);
  builder.AddListeningPort("0.0.0.0:0", InsecureServerCredentials(), &port);
  const std::unique_ptr<Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  EXPECT_GT(port, 1);
  for (const std::string host : {"localhost:", "127.0.0.1:", "dns:///localhost:", "[::1]:"}) {
    const auto stub =
        Echo::NewStub(CreateChannel(host + std::to_string(port), InsecureChannelCredentials()));
    EXPECT_TRUE(CallEcho(*stub, "").status.ok()) << host;
  }
}

TEST(RpcStartTest, OneServerListensOnSeveralAddresses) {
  EchoService service;
  const std::string a = UniqueAddress();
  const std::string b = UniqueAddress();
  ServerBuilder builder;
  builder.RegisterService("ignored.host", &service);
  builder.AddListeningPort(a, InsecureServerCredentials());
  builder.AddListeningPort(b, InsecureServerCredentials());
  const std::unique_ptr<Server> server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  for (const std::string& address : {a, b}) {
    const auto stub = Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
    EXPECT_TRUE(CallEcho(*stub, "").status.ok());
  }
}

}  // namespace
}  // namespace locket::tests
