// One connection and its two ends, as an upper layer uses them: over the in-process pair and over a
// socket with a handshake.
#include "locket/transport/connection.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/transport/connection_testing.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/kernel_features.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::transport {
namespace {

enum class Made { kAsPair, kBySocket, kOnLinux6_1, kOnLinux5_1 };

const internal::KernelFeatures& FeaturesFor(Made made) {
  static constexpr internal::KernelFeatures kAll;
  if (made == Made::kOnLinux6_1) return internal::kLinux6_1;
  return made == Made::kOnLinux5_1 ? internal::kLinux5_1 : kAll;
}

std::string UniqueName() {
  static std::atomic<int> count{0};
  return absl::StrCat("unix-abstract:locket-test-", getpid(), "-", count++);
}

// Both ends, and what must outlive them.
struct Ends {
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Connection> connecting;
  std::unique_ptr<Connection> accepting;
};

Ends MakeBySocket(const ListenOptions& listen, const ConnectOptions& connect) {
  Ends ends;
  Mutex mutex;
  CondVar arrived;
  const std::string target = UniqueName();
  auto listener = Listener::Listen(target, listen, [&](std::unique_ptr<Connection> connection) {
    MutexLock lock(mutex);
    ends.accepting = std::move(connection);
    arrived.NotifyAll();
  });
  EXPECT_TRUE(listener.ok()) << listener.status();
  auto connecting = Connect(target, connect, Deadline::After(kSoon));
  EXPECT_TRUE(connecting.ok()) << connecting.status();
  ends.listener = *std::move(listener);
  ends.connecting = *std::move(connecting);
  const Deadline deadline = Deadline::After(kSoon);
  MutexLock lock(mutex);
  while (ends.accepting == nullptr && arrived.WaitUntil(mutex, deadline)) {
  }
  EXPECT_NE(ends.accepting, nullptr);
  return ends;
}

Ends Make(Made made, const ListenOptions& listen = {}, const ConnectOptions& connect = {}) {
  if (made != Made::kAsPair) return MakeBySocket(listen, connect);
  auto pair = CreatePair(listen, connect);
  EXPECT_TRUE(pair.ok()) << pair.status();
  Ends ends;
  ends.connecting = std::move(pair->connecting);
  ends.accepting = std::move(pair->accepting);
  return ends;
}

// The accepting end's reads, through a WaitSet of its own.
class AcceptingReader {
 public:
  explicit AcceptingReader(Connection& connection)
      : set_(*WaitSet::Create()), connection_(connection) {
    EXPECT_TRUE(set_->Add(&connection, this).ok());
  }
  ~AcceptingReader() { set_->Remove(&connection_); }

  std::string Receive() {
    const Deadline deadline = Deadline::After(kSoon);
    for (;;) {
      if (set_->Wait(deadline) == nullptr) return "<late>";
      Record record;
      switch (connection_.TryReceive(&record)) {
        case ReadResult::kRecord:
          return Take(connection_, record);
        case ReadResult::kEnd:
          return "<end>";
        case ReadResult::kEmpty:
          break;
      }
    }
  }

 private:
  std::unique_ptr<WaitSet> set_;
  Connection& connection_;
};

class ConnectionTest : public testing::TestWithParam<Made> {
 private:
  const internal::ScopedKernelFeatures features_{FeaturesFor(GetParam())};
};

const char* NameOf(const testing::TestParamInfo<Made>& info) {
  static constexpr const char* kNames[] = {"Pair", "Socket", "Linux6_1", "Linux5_1"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, ConnectionTest,
                         testing::Values(Made::kAsPair, Made::kBySocket, Made::kOnLinux6_1,
                                         Made::kOnLinux5_1),
                         NameOf);

TEST_P(ConnectionTest, RecordsArriveWholeAndInOrderInBothDirections) {
  Ends ends = Make(GetParam());
  AcceptingReader reader(*ends.accepting);
  for (const char* text : {"one", "", "three"}) {
    ASSERT_TRUE(Send(*ends.connecting, text));
    ASSERT_TRUE(Send(*ends.accepting, text));
  }
  for (const char* text : {"one", "", "three"}) {
    EXPECT_EQ(reader.Receive(), text);
    EXPECT_EQ(Receive(*ends.connecting), text);
  }
}

TEST_P(ConnectionTest, BlocksOfTheUpperLayerReachTheOtherSide) {
  ListenOptions listen;
  listen.negotiate = [](const std::string& block) -> absl::StatusOr<std::string> {
    return "answer to " + block;
  };
  ConnectOptions connect;
  connect.block = "question";
  Ends ends = Make(GetParam(), listen, connect);
  EXPECT_EQ(ends.accepting->peer_block(), "question");
  EXPECT_EQ(ends.connecting->peer_block(), "answer to question");
}

// Of this process's mappings of segments: KiB mapped, and KiB whose page faults have been taken.
std::pair<int64_t, int64_t> SegmentKib() {
  std::pair<int64_t, int64_t> kib = {0, 0};
  std::ifstream smaps("/proc/self/smaps");
  bool of_segment = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find("memfd:") != std::string::npos) of_segment = true;
    if (!of_segment) continue;
    if (line.rfind("Size:", 0) == 0) kib.first += std::stoll(line.substr(5));
    if (line.rfind("Rss:", 0) == 0) {
      kib.second += std::stoll(line.substr(4));
      of_segment = false;
    }
  }
  return kib;
}

TEST_P(ConnectionTest, PrefaultedRingsFaultNoMore) {
  {
    Ends ends = Make(GetParam());
    const auto [mapped, faulted] = SegmentKib();
    EXPECT_GT(mapped, 4000);
    EXPECT_LT(faulted, 400);  // What the option is for.
  }
  ListenOptions listen;
  listen.prefault = true;
  ConnectOptions connect;
  connect.prefault = true;
  Ends ends = Make(GetParam(), listen, connect);
  const auto [mapped, faulted] = SegmentKib();
  EXPECT_GT(mapped, 4000);
  EXPECT_EQ(faulted, mapped);
}

TEST_P(ConnectionTest, KnowsWhoThePeerIs) {
  Ends ends = Make(GetParam());
  EXPECT_EQ(ends.accepting->peer().pid, getpid());
  EXPECT_EQ(ends.connecting->peer().uid, geteuid());
  EXPECT_EQ(ends.accepting->peer().uid, geteuid());
}

TEST_P(ConnectionTest, AFullRingHasNoRoomUntilTheReaderReleases) {
  ListenOptions listen;
  listen.ring_size = 4096;
  Ends ends = Make(GetParam(), listen);
  const std::string record(ends.connecting->max_record(), 'x');
  int sent = 0;
  while (uint8_t* room = ends.connecting->TryReserve(record.size())) {
    memcpy(room, record.data(), record.size());
    ends.connecting->Commit(record.size());
    ++sent;
  }
  // Four would fill the ring, and one line must stay free.
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(ends.connecting->WaitWritable(record.size(), Deadline::AfterNanos(1'000'000),
                                          ends.connecting->interrupts()),
            WaitResult::kDeadline);
  std::thread reading([&] {
    AcceptingReader reader(*ends.accepting);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(reader.Receive(), record);
  });
  EXPECT_TRUE(Send(*ends.connecting, record));
  reading.join();
}

TEST_P(ConnectionTest, ManyRecordsOfAllSizesCrossASmallRingWhileBothSidesSleepAndWake) {
  ListenOptions listen;
  listen.ring_size = 4096;
  Ends ends = Make(GetParam(), listen);
  constexpr int kRecords = 20000;
  const auto make = [](int i) { return std::string(i * 37 % 1000, static_cast<char>(i)); };
  std::thread reading([&] {
    AcceptingReader reader(*ends.accepting);
    for (int i = 0; i < kRecords; ++i) ASSERT_EQ(reader.Receive(), make(i)) << i;
  });
  std::thread answering([&] {
    for (int i = 0; i < kRecords; ++i) ASSERT_TRUE(Send(*ends.accepting, make(i)));
  });
  std::thread listening([&] {
    for (int i = 0; i < kRecords; ++i) ASSERT_EQ(Receive(*ends.connecting), make(i)) << i;
  });
  for (int i = 0; i < kRecords; ++i) ASSERT_TRUE(Send(*ends.connecting, make(i)));
  reading.join();
  answering.join();
  listening.join();
}

TEST_P(ConnectionTest, WithoutSpinningEveryRoundTripSleepsAndWakes) {
  ListenOptions listen;
  listen.spin.limit = std::chrono::nanoseconds(0);
  ConnectOptions connect;
  connect.spin = listen.spin;
  Ends ends = Make(GetParam(), listen, connect);
  constexpr int kRounds = 3000;
  std::thread echo([&] {
    AcceptingReader reader(*ends.accepting);
    for (int i = 0; i < kRounds; ++i) ASSERT_TRUE(Send(*ends.accepting, reader.Receive()));
  });
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_TRUE(Send(*ends.connecting, std::to_string(i)));
    ASSERT_EQ(Receive(*ends.connecting), std::to_string(i));
  }
  echo.join();
}

// Would reveal a wake-up that goes to the doorbell of a reader that sleeps on the futex: a hang.
TEST_P(ConnectionTest, BothSidesCanReadWithoutAWaitSet) {
  for (const auto limit : {std::chrono::microseconds(0), std::chrono::microseconds(50)}) {
    ListenOptions listen;
    listen.spin.limit = limit;
    ConnectOptions connect;
    connect.spin = listen.spin;
    Ends ends = Make(GetParam(), listen, connect);
    constexpr int kRounds = 3000;
    std::thread echo([&] {
      for (int i = 0; i < kRounds; ++i)
        ASSERT_TRUE(Send(*ends.accepting, Receive(*ends.accepting)));
    });
    for (int i = 0; i < kRounds; ++i) {
      ASSERT_TRUE(Send(*ends.connecting, std::to_string(i)));
      ASSERT_EQ(Receive(*ends.connecting), std::to_string(i));
    }
    echo.join();
  }
}

TEST_P(ConnectionTest, AnAcceptingEndReadsByItselfBeforeAndAfterItsTimeInAWaitSet) {
  Ends ends = Make(GetParam());
  for (int i = 0; i < 3; ++i) {
    std::thread waiting([&] { EXPECT_EQ(Receive(*ends.accepting), "by itself"); });
    ASSERT_TRUE(Send(*ends.connecting, "by itself"));
    waiting.join();
    AcceptingReader reader(*ends.accepting);
    std::thread waiting_set([&] { EXPECT_EQ(reader.Receive(), "in a set"); });
    ASSERT_TRUE(Send(*ends.connecting, "in a set"));
    waiting_set.join();
  }
}

TEST_P(ConnectionTest, AnAcceptingEndsOwnWaitEndsByDeadlineInterruptAndThePeersClose) {
  Ends ends = Make(GetParam());
  Connection& accepting = *ends.accepting;
  EXPECT_EQ(accepting.WaitReadable(Deadline::AfterNanos(2'000'000), accepting.interrupts()),
            WaitResult::kDeadline);
  std::thread waiting([&, interrupts = accepting.interrupts()] {
    EXPECT_EQ(accepting.WaitReadable(Deadline::After(kSoon), interrupts), WaitResult::kInterrupted);
  });
  accepting.Interrupt();
  waiting.join();
  std::thread reading([&] { EXPECT_EQ(Receive(accepting), "<end>"); });
  ends.connecting->Close(absl::OkStatus());
  reading.join();
}

TEST_P(ConnectionTest, WaitsEndByTheirDeadline) {
  Ends ends = Make(GetParam());
  EXPECT_EQ(
      ends.connecting->WaitReadable(Deadline::AfterNanos(2'000'000), ends.connecting->interrupts()),
      WaitResult::kDeadline);
  EXPECT_EQ(ends.connecting->WaitReadable(Deadline::AtNanos(1), ends.connecting->interrupts()),
            WaitResult::kDeadline);
}

TEST_P(ConnectionTest, AnInterruptBeforeTheWaitIsNotLost) {
  Ends ends = Make(GetParam());
  const uint32_t interrupts = ends.connecting->interrupts();
  ends.connecting->Interrupt();
  EXPECT_EQ(ends.connecting->WaitReadable(Deadline::Infinite(), interrupts),
            WaitResult::kInterrupted);
}

TEST_P(ConnectionTest, AnInterruptEndsARunningWait) {
  Ends ends = Make(GetParam());
  std::thread waiting([&, interrupts = ends.connecting->interrupts()] {
    EXPECT_EQ(ends.connecting->WaitReadable(Deadline::After(kSoon), interrupts),
              WaitResult::kInterrupted);
  });
  ends.connecting->Interrupt();
  waiting.join();
}

TEST_P(ConnectionTest, WhatWasCommittedBeforeThePeersCloseIsDeliveredThenTheEnd) {
  Ends ends = Make(GetParam());
  AcceptingReader reader(*ends.accepting);
  ASSERT_TRUE(Send(*ends.connecting, "last words"));
  ends.connecting->Close(absl::CancelledError("enough"));
  EXPECT_EQ(reader.Receive(), "last words");
  EXPECT_EQ(reader.Receive(), "<end>");
  EXPECT_EQ(ends.accepting->status(), absl::UnavailableError("Socket closed"));
  EXPECT_EQ(ends.connecting->status(), absl::CancelledError("enough"));
  EXPECT_EQ(ends.connecting->TryReserve(1), nullptr);
}

TEST_P(ConnectionTest, AWaitThatBeginsAfterTheEndReturnsAtOnce) {
  Ends ends = Make(GetParam());
  ends.connecting->Close(absl::CancelledError("closed"));
  const uint32_t interrupts = ends.connecting->interrupts();
  EXPECT_EQ(ends.connecting->WaitReadable(Deadline::Infinite(), interrupts), WaitResult::kClosed);
  EXPECT_EQ(ends.connecting->WaitWritable(ends.connecting->max_record(), Deadline::Infinite(),
                                          interrupts),
            WaitResult::kClosed);
}

TEST_P(ConnectionTest, ThePeersCloseEndsARunningReadAndABlockedWrite) {
  ListenOptions listen;
  listen.ring_size = 4096;
  Ends ends = Make(GetParam(), listen);
  while (uint8_t* room = ends.connecting->TryReserve(500)) {
    memset(room, 0, 500);
    ends.connecting->Commit(500);
  }
  std::thread writing([&] { EXPECT_FALSE(Send(*ends.connecting, std::string(500, 'x'))); });
  std::thread reading([&] { EXPECT_EQ(Receive(*ends.connecting), "<end>"); });
  ends.accepting->Close(absl::OkStatus());
  writing.join();
  reading.join();
}

TEST_P(ConnectionTest, ARecordInUseStaysReadableAfterClose) {
  Ends ends = Make(GetParam());
  ASSERT_TRUE(Send(*ends.accepting, "in use"));
  EXPECT_EQ(ends.connecting->WaitReadable(Deadline::After(kSoon), ends.connecting->interrupts()),
            WaitResult::kReady);
  Record record;
  ASSERT_EQ(ends.connecting->TryReceive(&record), ReadResult::kRecord);
  ends.connecting->Close(absl::CancelledError("closed"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.data), record.size), "in use");
  EXPECT_EQ(ends.connecting->TryReceive(&record), ReadResult::kEnd);
}

TEST_P(ConnectionTest, OneWaitSetServesManyConnectionsInTurn) {
  constexpr int kConnections = 20;
  auto set = *WaitSet::Create();
  std::vector<Ends> all;
  for (int i = 0; i < kConnections; ++i) {
    all.push_back(Make(GetParam()));
    ASSERT_TRUE(set->Add(all.back().accepting.get(), all.back().accepting.get()).ok());
  }
  std::vector<int> received(kConnections);
  // Three rounds: while the connections are new, hot, and parked again.
  for (int round = 1; round <= 3; ++round) {
    for (Ends& ends : all) ASSERT_TRUE(Send(*ends.connecting, "hello"));
    for (int i = 0; i < kConnections; ++i) {
      auto* ready = static_cast<Connection*>(set->Wait(Deadline::After(kSoon)));
      Record record;
      while (ready != nullptr && ready->TryReceive(&record) == ReadResult::kEmpty) {
        ready = static_cast<Connection*>(set->Wait(Deadline::After(kSoon)));
      }
      ASSERT_NE(ready, nullptr);
      EXPECT_EQ(Take(*ready, record), "hello");
      for (int j = 0; j < kConnections; ++j) {
        if (all[j].accepting.get() == ready) ++received[j];
      }
    }
    for (int j = 0; j < kConnections; ++j) EXPECT_EQ(received[j], round) << j;
    EXPECT_EQ(set->Wait(Deadline::AfterNanos(1'000'000)), nullptr);
  }
  for (Ends& ends : all) set->Remove(ends.accepting.get());
}

TEST(WaitSetTest, AWakeBeforeTheWaitIsNotLost) {
  auto set = *WaitSet::Create();
  set->Wake();
  EXPECT_EQ(set->Wait(Deadline::Infinite()), nullptr);
}

}  // namespace
}  // namespace locket::transport
