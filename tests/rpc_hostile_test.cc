// A peer that keeps to the transport's format and breaks the RPC protocol: its connection ends,
// with a reason, and nothing else is disturbed.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "locket/rpc/internal/frame.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/rpc/internal/server_core.h"
#include "locket/tests/bare_client.h"
#include "locket/tests/rpc_testing.h"
#include "locket/transport/endpoint.h"

namespace locket::tests {
namespace {

using internal::Agreement;
using internal::Frame;
using internal::FrameType;
using internal::Handshake;
using transport::Deadline;
using transport::ReadResult;
using transport::Record;

template <typename Header>
std::string Bytes(const Header& header, const std::string& rest = "") {
  return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + rest;
}

void Send(transport::Connection& connection, const std::string& bytes) {
  uint8_t* out = connection.TryReserve(bytes.size());
  ASSERT_NE(out, nullptr);
  std::memcpy(out, bytes.data(), bytes.size());
  connection.Commit(bytes.size());
}

// A server under test, and the client's end of a connection to it, played by the test.
class HostileClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([](LogSeverity, std::string_view) {});  // Violations are logged; not here.
    transport::ConnectOptions options;
    options.block = internal::EncodeHandshake(Handshake());
    absl::StatusOr<std::unique_ptr<transport::Connection>> connection =
        transport::Connect(server_.address(), options, Deadline::After(kPatience));
    ASSERT_TRUE(connection.ok()) << connection.status();
    raw_ = *std::move(connection);
  }
  void TearDown() override { SetLogSink(nullptr); }

  // The next frame of the server; nothing once the connection has ended.
  bool Receive(Frame* frame) {
    Record record;
    while (true) {
      switch (raw_->TryReceive(&record)) {
        case ReadResult::kEnd:
          return false;
        case ReadResult::kEmpty:
          EXPECT_NE(raw_->WaitReadable(Deadline::After(kPatience), raw_->interrupts()),
                    transport::WaitResult::kDeadline);
          continue;
        case ReadResult::kRecord:
          break;
      }
      std::string reason;
      EXPECT_EQ(internal::DecodeFrame(record.data, record.size, frame, &reason),
                internal::Decoded::kFrame)
          << reason;
      text_.assign(reinterpret_cast<const char*>(frame->text.data), frame->text.size);
      raw_->Release();
      return true;
    }
  }

  void ExpectClosed(const std::string& what) {
    Frame frame;
    while (Receive(&frame)) {
    }
    EXPECT_TRUE(raw_->closed()) << what;
    EXPECT_TRUE(CallEcho(*server_.NewStub(), "others").status.ok()) << what;
  }

  std::string Start(uint32_t id, uint32_t number, const std::string& name,
                    const std::string& message, size_t size) {
    return Bytes(internal::MakeStart(id, number, name.size(), size, 0), name + message);
  }
  std::string Start(uint32_t id) { return Start(id, 0, kCall, "", 0); }

  static constexpr char kCall[] = "/locket.tests.Echo/Call";
  EchoServer server_;
  std::unique_ptr<transport::Connection> raw_;
  std::string text_;
};

TEST_F(HostileClientTest, ACallPlayedByHandIsAnswered) {
  Send(*raw_, Start(7));
  Frame frame;
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.type, FrameType::kFinish);
  EXPECT_EQ(frame.call_id, 7u);
  EXPECT_EQ(frame.code, 0);
}

TEST_F(HostileClientTest, GarbageClosesItsConnectionOnly) {
  Send(*raw_, "\x63rubbish");
  ExpectClosed("unknown type");
}

TEST_F(HostileClientTest, OptionalFramesAreSkipped) {
  Send(*raw_, "\x80 whatever this is");
  Send(*raw_, Start(0));
  Frame frame;
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.type, FrameType::kFinish);
}

TEST_F(HostileClientTest, FramesOfTheOtherSideAreViolations) {
  Send(*raw_, Bytes(internal::MakeFinish(0, 0, 0, 0)));
  ExpectClosed("FINISH");
}

TEST_F(HostileClientTest, AMessageFrameIsReserved) {
  Send(*raw_, Bytes(internal::MakeMessage(0, 0)));
  ExpectClosed("MESSAGE");
}

TEST_F(HostileClientTest, AnIdBeyondTheLimitIsAViolation) {
  Send(*raw_, Start(internal::kDefaultCallsInFlight));
  ExpectClosed("id");
}

TEST_F(HostileClientTest, AStartOnAnIdInUseIsAViolation) {
  Send(*raw_, Start(3, 0, kCall, "", 100));  // Its message has not come yet.
  Send(*raw_, Start(3, 0, "", "", 100));
  ExpectClosed("id in use");
}

TEST_F(HostileClientTest, MethodNumbersAreBoundInOrderAndOnce) {
  Send(*raw_, Start(0, 1, kCall, "", 0));
  ExpectClosed("out of order");
}

TEST_F(HostileClientTest, AMethodNumberIsNotBoundTwice) {
  Send(*raw_, Start(0));
  Send(*raw_, Start(1, 0, kCall, "", 0));
  ExpectClosed("twice");
}

TEST_F(HostileClientTest, AMethodNumberThatIsNotBoundIsAViolation) {
  Send(*raw_, Start(0, 5, "", "", 0));
  ExpectClosed("not bound");
}

TEST_F(HostileClientTest, MoreBytesThanAnnouncedAreAViolation) {
  Send(*raw_, Start(0, 0, kCall, "", 4));
  Send(*raw_, Bytes(internal::MakeContinue(0), "12345"));
  ExpectClosed("too many bytes");
}

TEST_F(HostileClientTest, FramesForIdsNotInUseAreIgnored) {
  Send(*raw_, Bytes(internal::MakeContinue(9), "x"));
  Send(*raw_, Bytes(internal::MakeCancel(0xffffffff)));
  Send(*raw_, Start(0));
  Frame frame;
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.code, 0);
}

TEST_F(HostileClientTest, AHugeAnnouncementIsRefusedAndItsPiecesAreIgnored) {
  Send(*raw_, Start(0, 0, kCall, "x", 0xffffffff));
  Send(*raw_, Bytes(internal::MakeContinue(0), "y"));
  Frame frame;
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.code, StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(text_, "Received message larger than max (4294967295 vs. 4194304)");
  Send(*raw_, Start(0, 0, "", "", 0));
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.code, StatusCode::OK);
}

TEST_F(HostileClientTest, ACancelInTheMiddleOfARequestIsAnsweredAndTheHandlerDoesNotRun) {
  Send(*raw_, Start(0, 0, kCall, "x", 100));
  Send(*raw_, Bytes(internal::MakeCancel(0)));
  Frame frame;
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.type, FrameType::kFinish);
  EXPECT_EQ(frame.code, StatusCode::CANCELLED);
  EXPECT_EQ(server_.service().returned.value(), 0);
}

TEST_F(HostileClientTest, AClientThatStopsWithinAMessageHoldsNothingUp) {
  Send(*raw_, Start(0, 0, kCall, "x", 100));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(CallEcho(*server_.NewStub(), "").status.ok());
  server_.server().Shutdown();  // Nor this.
  EXPECT_TRUE(raw_->closed() ||
              raw_->WaitReadable(Deadline::After(kPatience), raw_->interrupts()) !=
                  transport::WaitResult::kDeadline);
}

TEST_F(HostileClientTest, AStartWithoutAMessageIsInternal) {
  internal::StartHeader start = internal::MakeStart(0, 0, sizeof(kCall) - 1, 0, 0);
  start.frame.flags &= ~internal::kFlagMessage;
  Send(*raw_, Bytes(start, kCall));
  Frame frame;
  ASSERT_TRUE(Receive(&frame));
  EXPECT_EQ(frame.code, StatusCode::INTERNAL);
}

// Would reveal an id that is free while its answer still waits for room: each START on it would
// park one more thread for ever.
TEST_F(HostileClientTest, AClientThatNeverReadsIsBoundedByItsIds) {
  const std::string message = [] {
    Request request;
    request.set_payload(std::string(200'000, 'a'));
    return request.SerializeAsString();
  }();
  // Its answers fill the ring (1 MiB) soon.
  int starts = 0;
  const auto until = InTime();
  while (!raw_->closed() && starts < 50 && std::chrono::steady_clock::now() < until) {
    if (server_.service().returned.value() < starts) continue;
    Send(*raw_, Start(0, 0, starts == 0 ? kCall : "", message, message.size()));
    ++starts;
  }
  EXPECT_TRUE(raw_->closed());
  EXPECT_LT(starts, 12);
  EXPECT_TRUE(CallEcho(*server_.NewStub(), "others").status.ok());
}

TEST_F(HostileClientTest, AVersionThatDoesNotMeetIsRefusedWithBothVersions) {
  Handshake future;
  future.version_min = 4;
  future.version_max = 5;
  transport::ConnectOptions options;
  options.block = internal::EncodeHandshake(future);
  const auto connection =
      transport::Connect(server_.address(), options, Deadline::After(kPatience));
  ASSERT_FALSE(connection.ok());
  EXPECT_EQ(connection.status().code(), absl::StatusCode::kUnavailable);
  const std::string text(connection.status().message());
  EXPECT_NE(text.find("the client speaks 4 to 5, the server 1 to 1"), std::string::npos) << text;
}

// A client under test, and the server's end of its connection, played by the test.
class HostileServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    transport::ListenOptions listen;
    listen.negotiate = [](const std::string&) {
      return absl::StatusOr<std::string>(internal::EncodeHandshake(Handshake()));
    };
    absl::StatusOr<transport::ConnectionPair> pair =
        transport::CreatePair(listen, transport::ConnectOptions());
    ASSERT_TRUE(pair.ok()) << pair.status();
    raw_ = std::move(pair->accepting);
    client_ =
        std::make_unique<BareClient>(std::move(pair->connecting), Agreement{2, 10}, "hostile");
  }

  // The outcome of a call that finds `answers` waiting for it, if they are to call 0.
  internal::CallOutcome CallWith(const std::vector<std::string>& answers) {
    for (const std::string& answer : answers) Send(*raw_, answer);
    ClientContext context;
    context.set_deadline(InTime());
    Response response;
    internal::CallOutcome outcome =
        client_->Call(internal::RpcMethod("/hostile/Call"), context, Request(), &response);
    payload_ = response.payload();
    return outcome;
  }

  std::unique_ptr<transport::Connection> raw_;
  std::unique_ptr<BareClient> client_;
  std::string payload_;
};

TEST_F(HostileServerTest, AnAnswerPlayedByHandArrives) {
  Response response;
  response.set_payload("by hand");
  const std::string bytes = response.SerializeAsString();
  EXPECT_EQ(CallWith({Bytes(internal::MakeFinishOk(0, bytes.size()), bytes)}).status.error_code(),
            OK);
  EXPECT_EQ(payload_, "by hand");
}

TEST_F(HostileServerTest, AnAnswerMayComeInPieces) {
  Response response;
  response.set_payload("in pieces");
  const std::string bytes = response.SerializeAsString();
  const internal::CallOutcome outcome = CallWith(
      {Bytes(internal::MakeMessage(0, bytes.size()), bytes.substr(0, 1)),
       Bytes(internal::MakeContinue(0), bytes.substr(1, 3)),
       Bytes(internal::MakeContinue(0), bytes.substr(4)), Bytes(internal::MakeFinish(0, 0, 0, 0))});
  EXPECT_EQ(outcome.status.error_code(), OK) << *outcome.debug;
  EXPECT_EQ(payload_, "in pieces");
}

TEST_F(HostileServerTest, OkWithoutAMessageIsUnimplemented) {
  const internal::CallOutcome outcome = CallWith({Bytes(internal::MakeFinish(0, 0, 0, 0))});
  EXPECT_EQ(outcome.status.error_code(), UNIMPLEMENTED);
  EXPECT_EQ(outcome.status.error_message(), "No message returned for unary request");
}

TEST_F(HostileServerTest, OkInTheMiddleOfAMessageIsUnimplemented) {
  EXPECT_EQ(CallWith({Bytes(internal::MakeMessage(0, 10), "abc"),
                      Bytes(internal::MakeFinish(0, 0, 0, 0))})
                .status.error_code(),
            UNIMPLEMENTED);
}

TEST_F(HostileServerTest, TwoMessagesAreUnimplemented) {
  EXPECT_EQ(CallWith({Bytes(internal::MakeMessage(0, 0)), Bytes(internal::MakeFinishOk(0, 0))})
                .status.error_code(),
            UNIMPLEMENTED);
}

TEST_F(HostileServerTest, AHugeAnnouncementTakesNoMemory) {
  const internal::CallOutcome outcome =
      CallWith({Bytes(internal::MakeMessage(0, 0xffffffff), "x")});
  EXPECT_EQ(outcome.status.error_code(), RESOURCE_EXHAUSTED);
  EXPECT_EQ(outcome.status.error_message(),
            "Received message larger than max (4294967295 vs. 4194304)");
}

TEST_F(HostileServerTest, ViolationsEndTheCallInternalWithAReason) {
  const std::vector<std::pair<const char*, std::vector<std::string>>> cases = {
      {"unknown type", {"\x63rubbish"}},
      {"short", {"\x04"}},
      {"a client's frame", {Bytes(internal::MakeCancel(0))}},
      {"not in use", {Bytes(internal::MakeFinish(1, 0, 0, 0))}},
      {"far beyond", {Bytes(internal::MakeFinish(0xffffffff, 0, 0, 0))}},
      {"bytes of no message", {Bytes(internal::MakeContinue(0), "x")}},
      {"too many bytes",
       {Bytes(internal::MakeMessage(0, 2)), Bytes(internal::MakeContinue(0), "abc")}},
      {"a message in a message",
       {Bytes(internal::MakeMessage(0, 2)), Bytes(internal::MakeMessage(0, 2))}},
  };
  for (const auto& [what, answers] : cases) {
    SetUp();
    const internal::CallOutcome outcome = CallWith(answers);
    EXPECT_EQ(outcome.status.error_code(), INTERNAL) << what;
    EXPECT_NE(outcome.status.error_message(), "") << what;
    EXPECT_FALSE(client_->usable()) << what;
  }
}

// The second answer meets a call whose owner has the first one already.
TEST_F(HostileServerTest, AnAnswerTooManyEndsTheConnectionAtTheNextCall) {
  EXPECT_EQ(CallWith({Bytes(internal::MakeFinishOk(0, 0)), Bytes(internal::MakeFinishOk(0, 0)),
                      Bytes(internal::MakeFinish(1, 0, 0, 0))})
                .status.error_code(),
            OK);
  // It looks like the answer of the next call 0; the third is for an id that is not in use.
  CallWith({});
  EXPECT_EQ(CallWith({}).status.error_code(), INTERNAL);
}

// Would reveal a reader that fills a call whose owner, never having sent it, may leave meanwhile.
TEST_F(HostileServerTest, AFrameForACallThatWaitsToBeSentIsAViolation) {
  Request large;
  large.set_payload(std::string(3 << 20, 'x'));
  std::atomic<int> begun{0};
  const auto call = [&] {
    ClientContext context;
    context.set_deadline(InTime());
    Response response;
    ++begun;
    const internal::CallOutcome outcome =
        client_->Call(internal::RpcMethod("/hostile/Call"), context, large, &response);
    EXPECT_EQ(outcome.status.error_code(), INTERNAL) << outcome.status.error_message();
  };
  // The first fills the ring, which nobody reads: the second gets an id, and waits for room.
  std::thread first(call);
  Record record;
  while (raw_->TryReceive(&record) == ReadResult::kEmpty) std::this_thread::yield();
  std::thread second(call);
  while (begun < 2) std::this_thread::yield();
  Send(*raw_, Bytes(internal::MakeMessage(1, 10'000), std::string(10'000, 'x')));
  first.join();
  second.join();
}

// A caller without an id waits for one, and meanwhile reads the answer that frees it.
TEST_F(HostileServerTest, CallsQueueWhenAllIdsAreInUse) {
  for (int i = 0; i < 2; ++i) {  // Abandoned, but their ids stay in use.
    ClientContext context;
    context.set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
    Response response;
    EXPECT_EQ(client_->Call(internal::RpcMethod("/hostile/Call"), context, Request(), &response)
                  .status.error_code(),
              DEADLINE_EXCEEDED);
  }
  ClientContext hopeless;
  hopeless.set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(5));
  Response response;
  EXPECT_EQ(client_->Call(internal::RpcMethod("/hostile/Call"), hopeless, Request(), &response)
                .status.error_code(),
            DEADLINE_EXCEEDED);
  // The late answer of call 1 frees its id, and reaches nobody.
  EXPECT_EQ(CallWith({Bytes(internal::MakeFinish(1, 5, 4, 0), "late"),
                      Bytes(internal::MakeFinish(1, 7, 4, 0), "mine")})
                .status.error_message(),
            "mine");
}

}  // namespace
}  // namespace locket::tests
