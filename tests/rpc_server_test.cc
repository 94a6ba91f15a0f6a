// What a server does when something goes wrong within a call, and what it keeps between calls. The
// messages and handlers here are the test's own, below generated code.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "google/protobuf/unknown_field_set.h"
#include "gtest/gtest.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/rpc/internal/server_core.h"
#include "locket/tests/bare_client.h"
#include "locket/tests/rpc_testing.h"
#include "locket/transport/endpoint.h"

namespace locket::tests {
namespace {

using google::protobuf::MessageLite;

// A message of one byte, which fails as it is told.
class BadMessage final : public MessageLite {
 public:
  bool no_memory_to_parse = false;
  bool no_memory_to_write = false;
  bool lacks_a_field = false;

  std::string GetTypeName() const override { return "BadMessage"; }
  MessageLite* New(google::protobuf::Arena*) const override { return new BadMessage; }
  void Clear() override {}
  bool IsInitialized() const override { return !lacks_a_field; }
  void CheckTypeAndMergeFrom(const MessageLite&) override {}
  const char* _InternalParse(const char* at, google::protobuf::internal::ParseContext*) override {
    if (no_memory_to_parse) throw std::bad_alloc();
    return at;
  }
  size_t ByteSizeLong() const override { return 1; }
  int GetCachedSize() const override { return 1; }
  uint8_t* _InternalSerialize(uint8_t* out,
                              google::protobuf::io::EpsCopyOutputStream*) const override {
    if (no_memory_to_write) throw std::bad_alloc();
    *out = 0;
    return out + 1;
  }
};

template <typename Req, typename Resp>
struct Messages final : internal::UnaryMessages {
  Req* request() override { return &request_; }
  Resp* response() override { return &response_; }
  Req request_;
  Resp response_;
};

// A handler that runs a function, and counts the messages made for it.
template <typename Req, typename Resp>
class Handler final : public internal::UnaryHandler {
 public:
  using M = Messages<Req, Resp>;

  std::unique_ptr<internal::UnaryMessages> NewMessages() override {
    ++made;
    if (no_memory) throw std::bad_alloc();
    auto messages = std::make_unique<M>();
    prepare(*messages);
    return messages;
  }
  Status Run(ServerContext* context, internal::UnaryMessages* messages) override {
    return body(*context, *static_cast<M*>(messages));
  }

  std::function<void(M&)> prepare = [](M&) {};
  std::function<Status(ServerContext&, M&)> body = [](ServerContext&, M&) { return Status::OK; };
  std::atomic<bool> no_memory{false};
  std::atomic<int> made{0};
};

// A server of one method, and a call of it.
template <typename Req = Request, typename Resp = Response>
class OneMethod {
 public:
  OneMethod() {
    auto handler = std::make_unique<Handler<Req, Resp>>();
    handler_ = handler.get();
    internal::AddUnaryHandler(&service_, kPath, std::move(handler));
    ServerBuilder builder;
    builder.RegisterService(&service_);
    builder.AddListeningPort(address_, InsecureServerCredentials());
    server_ = builder.BuildAndStart();
    channel_ = CreateChannel(address_, InsecureChannelCredentials());
  }
  Handler<Req, Resp>& handler() { return *handler_; }
  Server& server() { return *server_; }
  Status Call(const Request& request, Response* response) {
    ClientContext context;
    context.set_deadline(InTime());
    return internal::BlockingUnaryCall(channel_.get(), method_, &context, request, response);
  }
  Status Call(const Request& request = Request()) {
    Response response;
    return Call(request, &response);
  }

 private:
  static constexpr char kPath[] = "/test/Method";
  const std::string address_ = UniqueAddress();
  const internal::RpcMethod method_{kPath};
  Service service_;
  Handler<Req, Resp>* handler_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<ChannelInterface> channel_;
};

void ExpectFailure(const Status& status, StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code);
  EXPECT_EQ(status.error_message(), text);
}

Request OfSize(size_t size) {
  Request request;
  request.set_payload(std::string(size, 'x'));
  return request;
}

TEST(RpcServerTest, NoMemoryForMessagesFailsTheCallAlone) {
  OneMethod<> method;
  method.handler().no_memory = true;
  ExpectFailure(method.Call(OfSize(98)), RESOURCE_EXHAUSTED,
                "no memory for a request of 100 bytes");
  method.handler().no_memory = false;
  EXPECT_TRUE(method.Call().ok());
}

TEST(RpcServerTest, NoMemoryToParseFailsTheCallAlone) {
  OneMethod<BadMessage, Response> method;
  method.handler().prepare = [](auto& messages) { messages.request_.no_memory_to_parse = true; };
  for (int i = 0; i < 2; ++i) {
    ExpectFailure(method.Call(OfSize(98)), RESOURCE_EXHAUSTED,
                  "no memory for a request of 100 bytes");
  }
}

// The answer has been begun when it fails: another one must still be possible.
TEST(RpcServerTest, NoMemoryToWriteAnAnswerIsAnsweredToo) {
  OneMethod<Request, BadMessage> method;
  method.handler().body = [](ServerContext&, auto& messages) {
    messages.response_.no_memory_to_write = true;
    return Status::OK;
  };
  for (int i = 0; i < 2; ++i) {
    ExpectFailure(method.Call(), UNKNOWN, "Unexpected error in RPC handling");
  }
}

TEST(RpcServerTest, AMissingFieldIsInternalAndNotLogged) {
  OneMethod<BadMessage, Response> method;
  method.handler().prepare = [](auto& messages) { messages.request_.lacks_a_field = true; };
  ::testing::internal::CaptureStderr();
  ExpectFailure(method.Call(), INTERNAL, "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(RpcServerTest, AHandlerMayEndItsThread) {
  OneMethod<> method;
  method.handler().body = [](ServerContext&, auto& messages) {
    if (!messages.request_.payload().empty()) pthread_exit(nullptr);
    return Status::OK;
  };
  for (int i = 0; i < 3; ++i) {
    ExpectFailure(method.Call(OfSize(1)), UNKNOWN, "Unexpected error in RPC handling");
    EXPECT_TRUE(method.Call().ok());
  }
  method.server().Shutdown();  // Would wait for those threads.
}

TEST(RpcServerTest, TheDeadlineIsTheSameEachTime) {
  OneMethod<> method;
  method.handler().body = [](ServerContext& context, auto& messages) {
    const auto deadline = context.deadline();
    for (int i = 0; i < 1000; ++i) {
      if (context.deadline() != deadline) return Status(INTERNAL, "it moved");
    }
    messages.response_.set_number(
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline.time_since_epoch()).count());
    return Status::OK;
  };
  Response first;
  EXPECT_TRUE(method.Call(Request(), &first).ok());
  Response later;
  const auto patience = transport::Deadline::After(kPatience);
  do {
    EXPECT_TRUE(method.Call(Request(), &later).ok());
  } while (later.number() == first.number() && !patience.passed());
  EXPECT_GT(later.number(), first.number()) << "each call has its own";
}

// A client may call again before the server is quite done with the call before: then another call
// object serves it, with messages of its own.
constexpr int kAtOnce = 5;

TEST(RpcServerTest, MessagesAreUsedAgain) {
  std::atomic<bool> fail{false};
  OneMethod<> method;
  method.handler().body = [&](ServerContext&, auto&) {
    return fail ? Status::CANCELLED : Status::OK;
  };
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(method.Call().ok());  // Empty both ways.
  EXPECT_LE(method.handler().made, kAtOnce);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(method.Call(OfSize(10'000)).ok());
  EXPECT_LE(method.handler().made, kAtOnce);
  fail = true;
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(method.Call().ok());
  EXPECT_LE(method.handler().made, kAtOnce);
}

TEST(RpcServerTest, MessagesThatHoldMuchMemoryAreNotKept) {
  OneMethod<> method;
  Request request;
  // 30 KB as bytes, 16 bytes in memory for every 3 of them.
  google::protobuf::UnknownFieldSet* unknown =
      Request::GetReflection()->MutableUnknownFields(&request);
  for (int i = 0; i < 10'000; ++i) unknown->AddVarint(100, 1);
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(method.Call(request).ok());
    EXPECT_EQ(method.handler().made, i);
  }
}

TEST(RpcServerTest, AResponseThatIsNotSentIsNotKeptIfItIsLarge) {
  OneMethod<> method;
  method.handler().body = [](ServerContext&, auto& messages) {
    messages.response_.set_payload(std::string(200'000, 'x'));
    return Status::CANCELLED;
  };
  for (int i = 1; i <= 3; ++i) {
    EXPECT_FALSE(method.Call().ok());
    EXPECT_EQ(method.handler().made, i);
  }
}

// Would reveal a piece that is larger than what is left, or than a record.
TEST(RpcServerTest, ResponsesAboutAsLargeAsARecordArriveThroughAnyRing) {
  for (const size_t ring : {4096, 65536, 262144}) {
    EchoService service;
    internal::ServiceMethods methods;
    ASSERT_TRUE(methods.AddService(service).ok());
    auto core = internal::ServerCore::Create(std::move(methods), internal::ServerLimits());
    ASSERT_TRUE(core.ok()) << core.status();
    transport::ListenOptions listen;
    listen.ring_size = ring;
    listen.negotiate = [](const std::string&) {
      return absl::StatusOr<std::string>(internal::EncodeHandshake(internal::Handshake()));
    };
    transport::ConnectOptions connect;
    connect.block = internal::EncodeHandshake(internal::Handshake());
    absl::StatusOr<transport::ConnectionPair> pair = transport::CreatePair(listen, connect);
    ASSERT_TRUE(pair.ok()) << pair.status();
    const size_t record = pair->connecting->max_record();
    (*core)->Adopt(std::move(pair->accepting));
    BareClient client(std::move(pair->connecting), internal::Agreement{10, 10}, "server");
    const internal::RpcMethod method("/locket.tests.Echo/Call");
    for (size_t size = record - 50; size < record + 30; ++size) {
      ClientContext context;
      context.set_deadline(InTime());
      Request request = MakeRequest(Request::GENERATE);
      request.set_response_size(size);
      Response response;
      const Status status = client.Call(method, context, request, &response).status;
      ASSERT_TRUE(status.ok()) << ring << " " << size << " " << status.error_message();
      ASSERT_EQ(response.payload(), Pattern(size, 1)) << ring << " " << size;
    }
  }
}

}  // namespace
}  // namespace locket::tests
