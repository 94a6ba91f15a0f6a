// Peers that shake hands by the book and then misuse what they were given. Each costs its own
// connection, and another client of the same server goes on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/address.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/futex.h"
#include "locket/transport/internal/handshake.h"
#include "locket/transport/internal/handshake_messages.h"
#include "locket/transport/internal/socket.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::transport {
namespace {

using internal::Established;
using internal::UniqueFd;

constexpr auto kSoon = std::chrono::seconds(10);

class HostileTest : public testing::Test {
 protected:
  HostileTest() {
    static std::atomic<int> count{0};
    target_ = absl::StrCat("unix-abstract:locket-hostile-", getpid(), "-", count++);
    auto listener = Listener::Listen(target_, {}, [this](std::unique_ptr<Connection> connection) {
      EXPECT_TRUE(set_->Add(connection.get(), connection.get()).ok());
      MutexLock lock(mutex_);
      accepted_.push_back(std::move(connection));
    });
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  UniqueFd ConnectSocket() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
    const auto where = internal::ToSocketAddress(*internal::ParseTarget(target_));
    EXPECT_EQ(connect(socket.get(), where.get(), where.size), 0);
    return socket;
  }

  // A client that has everything that an honest one has, in its bare hands.
  Established ConnectBare() {
    auto established = internal::ConnectHandshake(ConnectSocket(), {}, Deadline::After(kSoon));
    EXPECT_TRUE(established.ok()) << established.status();
    return *std::move(established);
  }

  // Waits until some connection has ended, and removes it; why it ended.
  absl::Status NextEnd() {
    const Deadline deadline = Deadline::After(kSoon);
    for (;;) {
      auto* const connection = static_cast<Connection*>(set_->Wait(deadline));
      if (connection == nullptr) return absl::DeadlineExceededError("no end within 10 s");
      Record record;
      switch (connection->TryReceive(&record)) {
        case ReadResult::kRecord:
          connection->Release();
          break;
        case ReadResult::kEmpty:
          break;
        case ReadResult::kEnd:
          set_->Remove(connection);
          return connection->status();
      }
    }
  }

  void ExpectThatAnHonestClientIsServed() {
    auto honest = Connect(target_, {}, Deadline::After(kSoon));
    ASSERT_TRUE(honest.ok()) << honest.status();
    uint8_t* const room = (*honest)->TryReserve(6);
    memcpy(room, "honest", 6);
    (*honest)->Commit(6);
    const Deadline deadline = Deadline::After(kSoon);
    for (;;) {
      auto* const connection = static_cast<Connection*>(set_->Wait(deadline));
      ASSERT_NE(connection, nullptr);
      Record record;
      if (connection->TryReceive(&record) != ReadResult::kRecord) continue;
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.data), record.size), "honest");
      connection->Release();
      return;
    }
  }

  std::string target_;
  std::unique_ptr<WaitSet> set_ = *WaitSet::Create();
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> accepted_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Listener> listener_;  // Last: it ends before what its callback uses.
};

TEST_F(HostileTest, ADoorbellThatBlocksStopsNobody) {
  Established bare = ConnectBare();
  // Writing it would wait, and it has nothing to report.
  ASSERT_EQ(fcntl(bare.doorbell.get(), F_SETFL, 0), 0);
  ExpectThatAnHonestClientIsServed();
  bare.socket.Reset();  // Its end must be seen without the bell.
  EXPECT_EQ(NextEnd(), absl::UnavailableError("Socket closed"));
  ExpectThatAnHonestClientIsServed();
}

TEST_F(HostileTest, RingingWithoutRecordsEndsTheConnection) {
  Established bare = ConnectBare();
  std::atomic<bool> over{false};
  std::thread ringing([&] {
    while (!over.load()) {
      internal::RingDoorbell(bare.doorbell.get());
      std::this_thread::yield();
    }
  });
  const absl::Status end = NextEnd();
  over.store(true);
  ringing.join();
  EXPECT_TRUE(absl::IsInternal(end)) << end;
  ExpectThatAnHonestClientIsServed();
}

TEST_F(HostileTest, WakingAWaitWithoutRecordsEndsTheConnection) {
  Established bare = ConnectBare();
  Connection* accepted = nullptr;
  const Deadline deadline = Deadline::After(kSoon);
  while (accepted == nullptr && !deadline.passed()) {
    MutexLock lock(mutex_);
    if (!accepted_.empty()) accepted = accepted_.front().get();
  }
  ASSERT_NE(accepted, nullptr);
  set_->Remove(accepted);
  std::atomic<bool> over{false};
  std::thread waking([&] {
    auto& state = bare.segment->header().rings[internal::kToAccepting].reader_state;
    while (!over.load()) {
      state.store(internal::kRung);
      internal::FutexWakeShared(state);
    }
  });
  EXPECT_EQ(accepted->WaitReadable(Deadline::After(kSoon), accepted->interrupts()),
            WaitResult::kClosed);
  over.store(true);
  waking.join();
  EXPECT_TRUE(absl::IsInternal(accepted->status())) << accepted->status();
  EXPECT_NE(accepted->status().message().find("more than 64 times"), absl::string_view::npos)
      << accepted->status();
  ExpectThatAnHonestClientIsServed();
}

TEST_F(HostileTest, AForgedRecordEndsTheConnection) {
  Established bare = ConnectBare();
  const uint64_t word = ~uint64_t{0};
  memcpy(bare.segment->ring(internal::kToAccepting), &word, sizeof(word));
  internal::RingDoorbell(bare.doorbell.get());
  const absl::Status end = NextEnd();
  EXPECT_TRUE(absl::IsInternal(end)) << end;
  EXPECT_NE(end.message().find("0xffffffffffffffff"), absl::string_view::npos) << end;
}

TEST_F(HostileTest, AMessageOnTheSilentSocketEndsTheConnection) {
  for (const std::string message : {"x", ""}) {
    Established bare = ConnectBare();
    ASSERT_EQ(send(bare.socket.get(), message.data(), message.size(), 0), message.size());
    const absl::Status end = NextEnd();
    EXPECT_TRUE(absl::IsInternal(end)) << end;
    EXPECT_NE(end.message().find("must stay silent"), absl::string_view::npos) << end;
  }
}

TEST_F(HostileTest, SilentHandshakesDelayNobody) {
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 600; ++i) silent.push_back(ConnectSocket());
  ExpectThatAnHonestClientIsServed();
}

// A TCP socket whose last close waits for an hour, or for the end of `other`.
struct LingeringSocket {
  UniqueFd socket;
  UniqueFd other;
};

LingeringSocket MakeLingeringSocket() {
  const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(where);
  EXPECT_EQ(bind(listening.get(), reinterpret_cast<struct sockaddr*>(&where), size), 0);
  EXPECT_EQ(getsockname(listening.get(), reinterpret_cast<struct sockaddr*>(&where), &size), 0);
  EXPECT_EQ(listen(listening.get(), 1), 0);
  LingeringSocket made{UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), UniqueFd()};
  EXPECT_EQ(connect(made.socket.get(), reinterpret_cast<struct sockaddr*>(&where), size), 0);
  made.other.Reset(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const struct linger linger = {1, 3600};
  EXPECT_EQ(setsockopt(made.socket.get(), SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
  // What the other end does not take keeps the close waiting.
  const std::string much(1 << 20, 'x');
  while (send(made.socket.get(), much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  return made;
}

// Sends the message with a descriptor whose last close waits, once the server's kernel allows it,
// and closes it here: on a thread of its own, in case the server was faster. The server's close
// waits until this object goes.
class SlowToClose {
 public:
  SlowToClose(const UniqueFd& socket, const std::string& bytes)
      : thread_([this, fd = socket.get(), bytes] {
          const Deadline deadline = Deadline::After(kSoon);
          absl::Status sent;
          do {
            sent = internal::SendMessage(fd, bytes, {lingering_.socket.get()});
          } while (absl::IsPermissionDenied(sent) && !deadline.passed());
          lingering_.socket.Reset();
          EXPECT_TRUE(sent.ok()) << sent;
        }) {}
  ~SlowToClose() {
    lingering_.other.Reset();
    thread_.join();
  }

 private:
  LingeringSocket lingering_ = MakeLingeringSocket();
  std::thread thread_;
};

// Would reveal an accepting thread that closes what a client sent: it waits for an hour.
TEST_F(HostileTest, ADescriptorThatTakesLongToCloseDelaysNobody) {
  for (const std::string& message :
       {internal::Encode(internal::Hello()), std::string("nonsense")}) {
    const UniqueFd socket = ConnectSocket();
    const SlowToClose slow(socket, message);
    EXPECT_TRUE(
        internal::ReceiveMessage(socket.get(), internal::kMaxMessageSize, Deadline::After(kSoon))
            .ok());
    ExpectThatAnHonestClientIsServed();
  }
}

// Would reveal a user's thread that closes, with its connection, what nobody has received.
TEST_F(HostileTest, ADescriptorOnTheSilentSocketDelaysNobodyEither) {
  Established bare = ConnectBare();
  const SlowToClose slow(bare.socket, "");
  const absl::Status end = NextEnd();
  EXPECT_TRUE(absl::IsInternal(end)) << end;
  MutexLock lock(mutex_);
  accepted_.clear();
}

TEST_F(HostileTest, TheKernelRefusesDescriptorsOfWhoIsNotAdmitted) {
  int value = 0;
  socklen_t size = sizeof(value);
  const UniqueFd socket = ConnectSocket();
  constexpr int kPassRights = 83;
  if (getsockopt(socket.get(), SOL_SOCKET, kPassRights, &value, &size) != 0) {
    GTEST_SKIP() << "this kernel has no SO_PASSRIGHTS";
  }
  internal::UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  internal::AllowDescriptors(listening.get(), false);
  const auto where = internal::ToSocketAddress(*internal::ParseTarget(target_ + "-bare"));
  ASSERT_EQ(bind(listening.get(), where.get(), where.size), 0);
  ASSERT_EQ(listen(listening.get(), 1), 0);
  const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), where.get(), where.size), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(internal::SendMessage(client.get(), "x", {0})));
  const UniqueFd accepted(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(absl::IsPermissionDenied(internal::SendMessage(client.get(), "x", {0})));
  internal::AllowDescriptors(accepted.get(), true);
  EXPECT_TRUE(internal::SendMessage(client.get(), "x", {0}).ok());
}

TEST_F(HostileTest, ClientsThatHangUpAtAnyMomentDelayNobody) {
  for (int i = 0; i < 200; ++i) {
    const UniqueFd socket = ConnectSocket();
    if (i % 2 == 1) {
      ASSERT_TRUE(internal::SendMessage(socket.get(), internal::Encode(internal::Hello())).ok());
    }
    if (i % 4 == 3) {
      internal::ReceiveMessage(socket.get(), internal::kMaxMessageSize, Deadline::After(kSoon))
          .IgnoreError();
    }
  }
  ExpectThatAnHonestClientIsServed();
}

TEST_F(HostileTest, HolesThatAClientPunchesBeforeTheLastSealAreNoticed) {
  const UniqueFd socket = ConnectSocket();
  ASSERT_TRUE(internal::SendMessage(socket.get(), internal::Encode(internal::Hello())).ok());
  auto welcome =
      internal::ReceiveMessage(socket.get(), internal::kMaxMessageSize, Deadline::After(kSoon));
  ASSERT_TRUE(welcome.ok()) << welcome.status();
  ASSERT_EQ(fallocate(welcome->descriptors[0].get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      4096, 1 << 20),
            0);
  ASSERT_TRUE(internal::SendMessage(socket.get(), internal::Encode(internal::Mapped())).ok());
  auto answer =
      internal::ReceiveMessage(socket.get(), internal::kMaxMessageSize, Deadline::After(kSoon));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*internal::DecodeKind(answer->bytes), internal::MessageKind::kRefused);
  EXPECT_NE(answer->bytes.find("holes"), std::string::npos);
}

TEST_F(HostileTest, AHotConnectionDoesNotStarveAParkedOne) {
  ConnectOptions options;
  auto hot = *Connect(target_, options, Deadline::After(kSoon));
  auto parked = *Connect(target_, options, Deadline::After(kSoon));
  const auto send = [](Connection& connection, char what) {
    if (uint8_t* room = connection.TryReserve(1)) {
      *room = static_cast<uint8_t>(what);
      connection.Commit(1);
    }
  };
  // Both are known to the set, and parked.
  const auto accepted = [this] {
    MutexLock lock(mutex_);
    return accepted_.size();
  };
  const Deadline deadline = Deadline::After(kSoon);
  while (accepted() < 2) ASSERT_FALSE(deadline.passed());
  while (set_->Wait(Deadline::AfterNanos(20'000'000)) != nullptr) {
  }
  for (int i = 0; i < 1000; ++i) send(*hot, 'h');
  bool parked_sent = false;
  int waits = 0;
  for (int i = 0; i < 1000; ++i) {
    auto* const connection = static_cast<Connection*>(set_->Wait(Deadline::After(kSoon)));
    ASSERT_NE(connection, nullptr);
    Record record;
    ASSERT_EQ(connection->TryReceive(&record), ReadResult::kRecord);
    const char what = static_cast<char>(record.data[0]);
    connection->Release();
    if (what == 'p') break;
    // Each record of the hot one is a tenth of a millisecond of work.
    const Deadline worked = Deadline::AfterNanos(100'000);
    while (!worked.passed()) {
    }
    if (i == 100) {
      send(*parked, 'p');
      parked_sent = true;
    }
    if (parked_sent) ++waits;
  }
  EXPECT_LE(waits, 10);
}

TEST_F(HostileTest, AWakeComesBeforeRecords) {
  auto client = *Connect(target_, {}, Deadline::After(kSoon));
  *client->TryReserve(1) = 1;
  client->Commit(1);
  auto* const connection = set_->Wait(Deadline::After(kSoon));
  ASSERT_NE(connection, nullptr);
  set_->Wake();
  EXPECT_EQ(set_->Wait(Deadline::After(kSoon)), nullptr);
  EXPECT_EQ(set_->Wait(Deadline::After(kSoon)), connection);
}

}  // namespace
}  // namespace locket::transport
