// Peers that shake hands by the book and then misuse what they were given. Each costs its own
// connection, and another client of the same server goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
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
    auto established = internal::ConnectHandshake(ConnectSocket(), "", Deadline::After(kSoon));
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

// A doorbell whose next write blocks, if anybody writes it.
void Spoil(int doorbell) {
  const uint64_t most = ~uint64_t{1};
  ASSERT_EQ(write(doorbell, &most, sizeof(most)), 8);
  ASSERT_EQ(fcntl(doorbell, F_SETFL, 0), 0);
}

TEST_F(HostileTest, ADoorbellThatBlocksItsWriterStopsNobody) {
  Established bare = ConnectBare();
  Spoil(bare.doorbell.get());
  ExpectThatAnHonestClientIsServed();
  bare.socket.Reset();  // Its end must be seen without the bell.
  EXPECT_EQ(NextEnd(), absl::UnavailableError("Socket closed"));
  ExpectThatAnHonestClientIsServed();
}

TEST_F(HostileTest, RingingWithoutRecordsEndsTheConnection) {
  Established bare = ConnectBare();
  std::atomic<bool> over{false};
  std::thread ringing([&] {
    const uint64_t one = 1;
    while (!over.load()) {
      ASSERT_EQ(write(bare.doorbell.get(), &one, sizeof(one)), 8);
      std::this_thread::yield();
    }
  });
  const absl::Status end = NextEnd();
  over.store(true);
  ringing.join();
  EXPECT_TRUE(absl::IsInternal(end)) << end;
  ExpectThatAnHonestClientIsServed();
}

TEST_F(HostileTest, AForgedRecordEndsTheConnection) {
  Established bare = ConnectBare();
  const uint64_t word = ~uint64_t{0};
  memcpy(bare.segment->ring(internal::kToAccepting), &word, sizeof(word));
  const uint64_t one = 1;
  ASSERT_EQ(write(bare.doorbell.get(), &one, sizeof(one)), 8);
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
