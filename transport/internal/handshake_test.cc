// Handshakes with a peer that speaks another version, another language, or nonsense.
#include "locket/transport/internal/handshake.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_format.h"
#include "locket/transport/internal/handshake_messages.h"
#include "locket/transport/internal/quota.h"

namespace locket::transport::internal {
namespace {

constexpr auto kSoon = std::chrono::seconds(10);

struct SocketPair {
  UniqueFd client;
  UniqueFd server;
};

SocketPair MakeSocketPair() {
  int sockets[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
  const int on = 1;
  EXPECT_EQ(setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
  return {UniqueFd(sockets[0]), UniqueFd(sockets[1])};
}

std::shared_ptr<Quota> Unlimited() { return std::make_shared<Quota>(1000, uint64_t{1} << 40); }

// What a server answers to `hello`.
std::string AnswerTo(const std::string& hello) {
  SocketPair sockets = MakeSocketPair();
  const ListenOptions options;
  AcceptHandshake handshake(std::move(sockets.server), options, Unlimited());
  EXPECT_TRUE(SendMessage(sockets.client.get(), hello).ok());
  const auto progress = handshake.Advance();
  auto answer = TryReceiveMessage(sockets.client.get(), kMaxMessageSize);
  EXPECT_TRUE(answer.ok() && answer->has_value());
  const std::string bytes = (*answer)->bytes;
  EXPECT_EQ(progress.ok(), *DecodeKind(bytes) == MessageKind::kWelcome);
  return bytes;
}

std::string RefusalOf(const std::string& hello) {
  const std::string answer = AnswerTo(hello);
  const auto refused = Decode<Refused>(answer);
  EXPECT_TRUE(refused.ok()) << refused.status();
  return std::string(TailOf<Refused>(answer));
}

TEST(AcceptHandshakeTest, AGoodHelloIsWelcomed) {
  const auto welcome = Decode<Welcome>(AnswerTo(Encode(Hello())));
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  EXPECT_EQ(welcome->version, kFormatVersion);
  EXPECT_EQ(welcome->layout_hash, kLayoutHash);
}

TEST(AcceptHandshakeTest, AVersionOutsideTheRangeIsRefusedWithBothRanges) {
  Hello hello;
  hello.min_version = 3;
  hello.max_version = 7;
  EXPECT_EQ(RefusalOf(Encode(hello)), "versions 3 to 7 of the peer's transport are outside 1 to 1");
}

TEST(AcceptHandshakeTest, AWiderRangeMeetsInOurVersion) {
  Hello hello;
  hello.max_version = 7;
  const auto welcome = Decode<Welcome>(AnswerTo(Encode(hello)));
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(welcome->version, 1);
}

TEST(AcceptHandshakeTest, UnknownFeaturesAreIgnoredAndUnknownRequiredOnesRefused) {
  Hello hello;
  hello.features = ~uint64_t{0};
  const auto welcome = Decode<Welcome>(AnswerTo(Encode(hello)));
  ASSERT_TRUE(welcome.ok());
  EXPECT_EQ(welcome->features, kKnownFeatures);
  hello.required_features = 1ull << 40;
  EXPECT_EQ(RefusalOf(Encode(hello)),
            "the peer requires the transport's features 0x10000000000, and this build has " +
                absl::StrFormat("%#x", kKnownFeatures));
}

TEST(AcceptHandshakeTest, AnotherWordSizeIsRefused) {
  Hello hello;
  hello.word_size = 4;
  EXPECT_EQ(RefusalOf(Encode(hello)), "words of 4 bytes of the client are not 8");
}

TEST(AcceptHandshakeTest, NonsenseIsRefused) {
  Hello lying;
  std::string bytes = Encode(lying);
  bytes[8] = 1;  // A size that is not the message's.
  std::string tail = Encode(lying, "x");
  tail[12] = 0;  // A tail that it has and does not tell.
  std::string kind = Encode(lying);
  kind[4] = 2;  // A welcome from a client.
  for (const std::string& nonsense :
       {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string("x"), bytes, tail, kind,
        Encode(Mapped()), Encode(lying).substr(0, 63)}) {
    EXPECT_NE(RefusalOf(nonsense).find("handshake message"), std::string::npos);
  }
}

// Advances a handshake by a Hello with these descriptors.
absl::Status HelloWith(std::initializer_list<int> descriptors) {
  SocketPair sockets = MakeSocketPair();
  const ListenOptions options;
  AcceptHandshake handshake(std::move(sockets.server), options, Unlimited());
  EXPECT_TRUE(SendMessage(sockets.client.get(), Encode(Hello()), descriptors).ok());
  return handshake.Advance().status();
}

TEST(AcceptHandshakeTest, OnlyAPidfdMayComeWithHello) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  ASSERT_TRUE(pidfd.valid());
  EXPECT_TRUE(HelloWith({pidfd.get()}).ok());
  const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(HelloWith({file.get()}),
            absl::InternalError("the last descriptor of the client's hello is no pidfd"));
  EXPECT_EQ(HelloWith({pidfd.get(), pidfd.get()}),
            absl::InternalError("the client's hello has 2 descriptors, and not 0 or 1"));
}

TEST(AcceptHandshakeTest, AnotherLayoutOfTheClientIsRefusedWithBothNumbers) {
  SocketPair sockets = MakeSocketPair();
  const ListenOptions options;
  AcceptHandshake handshake(std::move(sockets.server), options, Unlimited());
  ASSERT_TRUE(SendMessage(sockets.client.get(), Encode(Hello())).ok());
  ASSERT_TRUE(handshake.Advance().ok());
  Mapped mapped;
  mapped.layout_hash = 0x1234;
  ASSERT_TRUE(SendMessage(sockets.client.get(), Encode(mapped)).ok());
  EXPECT_EQ(handshake.Advance().status(),
            absl::UnavailableError(
                absl::StrFormat("layout 0x1234 of the client is not %#x", kLayoutHash)));
}

TEST(AcceptHandshakeTest, NothingFromTheClientYetIsNoError) {
  SocketPair sockets = MakeSocketPair();
  const ListenOptions options;
  AcceptHandshake handshake(std::move(sockets.server), options, Unlimited());
  EXPECT_EQ(*handshake.Advance(), AcceptHandshake::Progress::kMore);
  sockets.client.Reset();
  EXPECT_TRUE(absl::IsUnavailable(handshake.Advance().status()));
}

TEST(AcceptHandshakeTest, TheUpperLayerCanRefuse) {
  SocketPair sockets = MakeSocketPair();
  ListenOptions options;
  options.negotiate = [](const std::string&) { return absl::UnavailableError("not today"); };
  AcceptHandshake handshake(std::move(sockets.server), options, Unlimited());
  ASSERT_TRUE(SendMessage(sockets.client.get(), Encode(Hello())).ok());
  EXPECT_FALSE(handshake.Advance().ok());
  const auto answer = TryReceiveMessage(sockets.client.get(), kMaxMessageSize);
  EXPECT_EQ(TailOf<Refused>((*answer)->bytes), "not today");
}

// A server that plays `serve` on its socket; what ConnectHandshake() makes of it.
absl::Status ConnectTo(const std::function<void(int socket)>& serve,
                       Deadline deadline = Deadline::After(kSoon)) {
  SocketPair sockets = MakeSocketPair();
  std::thread server([&] { serve(sockets.server.get()); });
  const absl::Status status = ConnectHandshake(std::move(sockets.client), {}, deadline).status();
  server.join();
  return status;
}

void ReadHello(int socket) {
  EXPECT_TRUE(ReceiveMessage(socket, kMaxMessageSize, Deadline::After(kSoon)).ok());
}

// A welcome that is right but for what `change` does, with descriptors of the given kind.
absl::Status ConnectToWelcome(const std::function<void(Welcome&)>& change, int memory = -1,
                              int bell = -1, int pidfd = -1) {
  return ConnectTo([=](int socket) mutable {
    ReadHello(socket);
    auto segment = *Segment::Create(4096);
    const UniqueFd doorbell(eventfd(0, EFD_CLOEXEC));
    Welcome welcome;
    welcome.version = 1;
    welcome.segment_size = segment->geometry().segment_size();
    welcome.ring_size = segment->geometry().ring_size;
    welcome.ring_offset = segment->geometry().ring_offset;
    change(welcome);
    memory = memory >= 0 ? memory : segment->descriptor();
    bell = bell >= 0 ? bell : doorbell.get();
    const absl::Status sent = pidfd >= 0
                                  ? SendMessage(socket, Encode(welcome), {memory, bell, pidfd})
                                  : SendMessage(socket, Encode(welcome), {memory, bell});
    EXPECT_TRUE(sent.ok()) << sent;
  });
}

TEST(ConnectHandshakeTest, ASilentServerEndsAtTheDeadline) {
  SocketPair sockets = MakeSocketPair();
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      ConnectHandshake(std::move(sockets.client), {}, Deadline::AfterNanos(5'000'000)).status()));
}

TEST(ConnectHandshakeTest, AServerThatHangsUpIsUnavailable) {
  SocketPair sockets = MakeSocketPair();
  sockets.server.Reset();
  EXPECT_TRUE(absl::IsUnavailable(
      ConnectHandshake(std::move(sockets.client), {}, Deadline::After(kSoon)).status()));
}

TEST(ConnectHandshakeTest, ARefusalArrivesWithItsReason) {
  const absl::Status status = ConnectTo([](int socket) {
    ReadHello(socket);
    Refused refused;
    refused.code = static_cast<uint32_t>(absl::StatusCode::kPermissionDenied);
    EXPECT_TRUE(SendMessage(socket, Encode(refused, "no\nentry")).ok());
  });
  EXPECT_EQ(status, absl::PermissionDeniedError("the server refused the connection: no\\nentry"));
}

TEST(ConnectHandshakeTest, ARefusalCannotChooseAnyCode) {
  const absl::Status status = ConnectTo([](int socket) {
    ReadHello(socket);
    Refused refused;
    refused.code = 0;
    EXPECT_TRUE(SendMessage(socket, Encode(refused, "ok?")).ok());
  });
  EXPECT_TRUE(absl::IsUnavailable(status));
}

TEST(ConnectHandshakeTest, AnotherVersionIsRefusedWithBothNumbers) {
  EXPECT_EQ(ConnectToWelcome([](Welcome& welcome) { welcome.version = 9; }),
            absl::UnavailableError("versions 9 to 9 of the peer's transport are outside 1 to 1"));
}

TEST(ConnectHandshakeTest, AnotherLayoutOrWordSizeIsRefusedWithBothNumbers) {
  EXPECT_EQ(
      ConnectToWelcome([](Welcome& welcome) { welcome.layout_hash = 0x1234; }),
      absl::UnavailableError(absl::StrFormat(
          "layout 0x1234 with words of 8 bytes of the server is not %#x with 8", kLayoutHash)));
  EXPECT_EQ(ConnectToWelcome([](Welcome& welcome) { welcome.word_size = 4; }),
            absl::UnavailableError(
                absl::StrFormat("layout %#x with words of 4 bytes of the server is not %#x with 8",
                                kLayoutHash, kLayoutHash)));
}

TEST(ConnectHandshakeTest, AFeatureThatTheServerRequiresAndWeLackIsRefusedWithBothSets) {
  EXPECT_EQ(ConnectToWelcome([](Welcome& welcome) { welcome.required_features = 1ull << 40; }),
            absl::UnavailableError(absl::StrFormat(
                "the peer requires the transport's features 0x10000000000, and this build has %#x",
                kKnownFeatures)));
}

TEST(ConnectHandshakeTest, AGeometryThatCannotBeIsRefused) {
  for (const auto& change : std::initializer_list<std::function<void(Welcome&)>>{
           [](Welcome& welcome) { welcome.ring_size = 4095; },
           [](Welcome& welcome) { welcome.ring_size = ~uint64_t{0}; },
           [](Welcome& welcome) { welcome.ring_size = 0; },
           [](Welcome& welcome) { welcome.segment_size += 4096; },
           [](Welcome& welcome) { welcome.ring_offset = 0; },
           [](Welcome& welcome) {
             welcome.ring_size *= 2;  // More than the memory has.
             welcome.segment_size = welcome.ring_offset + 2 * welcome.ring_size;
           },
       }) {
    const absl::Status status = ConnectToWelcome(change);
    EXPECT_TRUE(absl::IsInternal(status)) << status;
  }
}

TEST(ConnectHandshakeTest, ADoorbellThatIsAPipeIsRefused) {
  int pipe[2];
  ASSERT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd reading(pipe[0]);
  const UniqueFd writing(pipe[1]);
  const absl::Status status = ConnectToWelcome([](Welcome&) {}, -1, writing.get());
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_NE(status.message().find("no eventfd"), absl::string_view::npos) << status;
}

TEST(ConnectHandshakeTest, AThirdDescriptorThatIsNoPidfdIsRefused) {
  const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const absl::Status status = ConnectToWelcome([](Welcome&) {}, -1, -1, file.get());
  EXPECT_EQ(status, absl::InternalError("the last descriptor of the server's welcome is no pidfd"));
}

TEST(ConnectHandshakeTest, MemoryThatIsNotSealedIsNotMapped) {
  const UniqueFd memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), 3 * 4096), 0);
  const absl::Status status = ConnectToWelcome([](Welcome&) {}, memory.get());
  EXPECT_TRUE(absl::IsInternal(status)) << status;
  EXPECT_NE(status.message().find("seals"), absl::string_view::npos);
}

TEST(ConnectHandshakeTest, MemoryThatIsNotSealedForGoodIsNotUsed) {
  const absl::Status status = ConnectTo([](int socket) {
    ReadHello(socket);
    auto segment = *Segment::Create(4096);
    const UniqueFd doorbell(eventfd(0, EFD_CLOEXEC));
    Welcome welcome;
    welcome.version = 1;
    welcome.segment_size = segment->geometry().segment_size();
    welcome.ring_size = segment->geometry().ring_size;
    welcome.ring_offset = segment->geometry().ring_offset;
    EXPECT_TRUE(SendMessage(socket, Encode(welcome), {segment->descriptor(), doorbell.get()}).ok());
    ReadHello(socket);
    EXPECT_TRUE(SendMessage(socket, Encode(Sealed())).ok());
  });
  EXPECT_TRUE(absl::IsInternal(status)) << status;
}

TEST(SegmentTest, ASealedSegmentCannotBeMappedWritableAgain) {
  auto segment = *Segment::Create(4096);
  const UniqueFd copy(dup(segment->descriptor()));
  ASSERT_TRUE(segment->SealForGood().ok());
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, copy.get(), 0), MAP_FAILED);
  EXPECT_NE(ftruncate(copy.get(), 0), 0);
}

TEST(SegmentTest, RingSizesThatCannotBeAreRefused) {
  for (const uint64_t size : {0ull, 1ull, 4095ull, 6000ull, 1ull << 31, ~0ull}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Segment::Create(size).status())) << size;
  }
}

}  // namespace
}  // namespace locket::transport::internal
