// A peer that is killed, in each state of a connection: the survivor knows at once, and gets what
// was committed before. The times are recorded, never judged: the machine may be slow.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "locket/tests/test_process.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/kernel_features.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::transport {
namespace {

using tests::TestProcess;

constexpr auto kSoon = std::chrono::seconds(10);

std::string Peer() { return getenv("PEER"); }

void RecordTime(int64_t killed_at) {
  testing::Test::RecordProperty("microseconds",
                                std::to_string((MonotonicNanos() - killed_at) / 1000));
}

// On this kernel and on Debian 12's, where a server knows its client's pidfd from the client alone.
class TransportDeathTest : public testing::TestWithParam<internal::KernelFeatures> {
 protected:
  TransportDeathTest() {
    char name[] = "/tmp/locket-XXXXXX";
    directory_ = mkdtemp(name);
    target_ = "unix:" + directory_ + "/s";
  }
  ~TransportDeathTest() override { std::filesystem::remove_all(directory_); }

  // ---- This process connects, or writes.

  void ExpectThatAReaderSeesTheDeathOf(TestProcess& server, Connection& connection) {
    const uint32_t interrupts = connection.interrupts();
    const int64_t killed_at = server.Kill();
    EXPECT_EQ(connection.WaitReadable(Deadline::After(kSoon), interrupts), WaitResult::kClosed);
    RecordTime(killed_at);
    EXPECT_EQ(connection.status(), absl::UnavailableError("Socket closed"));
  }

  void ExpectThatABlockedWriterSeesTheDeathOf(TestProcess& peer, Connection& connection) {
    const uint32_t interrupts = connection.interrupts();
    while (uint8_t* room = connection.TryReserve(1000)) {
      memset(room, 0, 1000);
      connection.Commit(1000);
    }
    const int64_t killed_at = peer.Kill();
    EXPECT_EQ(connection.WaitWritable(1000, Deadline::After(kSoon), interrupts),
              WaitResult::kClosed);
    RecordTime(killed_at);
  }

  // ---- This process listens.

  void Listen() {
    auto listener = Listener::Listen(target_, {}, [this](std::unique_ptr<Connection> connection) {
      MutexLock lock(mutex_);
      accepted_.push_back(std::move(connection));
      arrived_.NotifyAll();
    });
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  Connection* Accepted() {
    const Deadline deadline = Deadline::After(kSoon);
    MutexLock lock(mutex_);
    while (accepted_.empty() && arrived_.WaitUntil(mutex_, deadline)) {
    }
    if (accepted_.empty()) return nullptr;
    connection_ = std::move(accepted_.back());
    accepted_.pop_back();
    EXPECT_TRUE(set_->Add(connection_.get(), connection_.get()).ok());
    return connection_.get();
  }

  // Receives until there is nothing now, or the end; false at the end.
  bool ReceiveAll(std::vector<std::string>* records) {
    Record record;
    for (;;) {
      switch (connection_->TryReceive(&record)) {
        case ReadResult::kRecord:
          records->emplace_back(reinterpret_cast<const char*>(record.data), record.size);
          connection_->Release();
          break;
        case ReadResult::kEmpty:
          return true;
        case ReadResult::kEnd:
          return false;
      }
    }
  }

  // Everything from the peer, up to its end.
  std::vector<std::string> ReceiveToTheEnd() {
    std::vector<std::string> records;
    const Deadline deadline = Deadline::After(kSoon);
    while (ReceiveAll(&records)) {
      if (set_->Wait(deadline) == nullptr) {
        ADD_FAILURE() << "no end within 10 s";
        break;
      }
    }
    set_->Remove(connection_.get());
    return records;
  }

  const internal::ScopedKernelFeatures features_{GetParam()};
  std::string directory_;
  std::string target_;
  Mutex mutex_;
  CondVar arrived_;
  std::vector<std::unique_ptr<Connection>> accepted_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<WaitSet> set_ = *WaitSet::Create();
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Listener> listener_;
};

INSTANTIATE_TEST_SUITE_P(All, TransportDeathTest,
                         testing::Values(internal::KernelFeatures(), internal::kLinux6_1),
                         [](const auto& info) { return info.index == 0 ? "This" : "Linux6_1"; });

TEST_P(TransportDeathTest, ASilentClientThatIsKilledIsNoticed) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "silent"});
  ASSERT_EQ(client.ReadLine(), "ready");
  Connection* const connection = Accepted();
  ASSERT_NE(connection, nullptr);
  const int64_t killed_at = client.Kill();
  EXPECT_TRUE(ReceiveToTheEnd().empty());
  RecordTime(killed_at);
  EXPECT_EQ(connection->status(), absl::UnavailableError("Socket closed"));
}

TEST_P(TransportDeathTest, WhatAKilledClientHadCommittedIsDelivered) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "flood"});
  ASSERT_EQ(client.ReadLine(), "ready");
  ASSERT_NE(Accepted(), nullptr);
  const int64_t killed_at = client.Kill();
  client.Wait();
  const std::vector<std::string> records = ReceiveToTheEnd();
  RecordTime(killed_at);
  EXPECT_EQ(records.size(), (size_t{1} << 20) / 128 - 1);
  for (uint32_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].size(), 100u);
    ASSERT_EQ(memcmp(records[i].data(), &i, sizeof(i)), 0);
  }
}

TEST_P(TransportDeathTest, AClientThatIsKilledWithinTheHandshakeDisturbsNobody) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "hello"});
  ASSERT_EQ(client.ReadLine(), "ready");
  TestProcess next(Peer(), {"connect", target_, "request"});
  ASSERT_EQ(next.ReadLine(), "ready");
  client.Kill();
  ASSERT_NE(Accepted(), nullptr);
  next.Kill();
  EXPECT_EQ(ReceiveToTheEnd(), std::vector<std::string>{"request"});
}

TEST_P(TransportDeathTest, AStoppedClientIsNotADeadOne) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "silent"});
  ASSERT_EQ(client.ReadLine(), "ready");
  Connection* const connection = Accepted();
  ASSERT_NE(connection, nullptr);
  client.Signal(SIGSTOP);
  // It has stopped once waitid() says so.
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, client.pid(), &info, WSTOPPED), 0);
  EXPECT_FALSE(connection->closed());
  client.Kill();
  EXPECT_TRUE(ReceiveToTheEnd().empty());
}

TEST_P(TransportDeathTest, AStoppedServerIsNotADeadOne) {
  TestProcess server(Peer(), {"listen", target_, "serve"});
  ASSERT_EQ(server.ReadLine(), "ready");
  auto connection = Connect(target_, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  server.Signal(SIGSTOP);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, server.pid(), &info, WSTOPPED), 0);
  EXPECT_EQ(
      (*connection)->WaitReadable(Deadline::AfterNanos(20'000'000), (*connection)->interrupts()),
      WaitResult::kDeadline);
  EXPECT_FALSE((*connection)->closed());
}

TEST_P(TransportDeathTest, AZombieThatNobodyReapsIsDead) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "silent"});
  ASSERT_EQ(client.ReadLine(), "ready");
  ASSERT_NE(Accepted(), nullptr);
  client.Kill();
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, client.pid(), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(ReceiveToTheEnd().empty());
}

TEST_P(TransportDeathTest, AClientsChildThatHoldsItsSocketDoesNotHideItsDeath) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "fork"});
  ASSERT_EQ(client.ReadLine(), "ready");
  Connection* const connection = Accepted();
  ASSERT_NE(connection, nullptr);
  const int64_t killed_at = client.Kill();
  EXPECT_TRUE(ReceiveToTheEnd().empty());
  RecordTime(killed_at);
  EXPECT_EQ(connection->status(), absl::UnavailableError("Socket closed"));
}

TEST_P(TransportDeathTest, AServersChildThatHoldsItsSocketDoesNotHideItsDeath) {
  TestProcess server(Peer(), {"listen", target_, "fork"});
  ASSERT_EQ(server.ReadLine(), "ready");
  auto connection = Connect(target_, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_EQ(server.ReadLine(), "accepted");
  ExpectThatAReaderSeesTheDeathOf(server, **connection);
}

TEST_P(TransportDeathTest, AHotClientThatIsKilledIsNoticed) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "pump"});
  ASSERT_EQ(client.ReadLine(), "ready");
  ASSERT_NE(Accepted(), nullptr);
  std::vector<std::string> records;
  while (records.size() < 10'000) {
    ASSERT_NE(set_->Wait(Deadline::After(kSoon)), nullptr);
    ASSERT_TRUE(ReceiveAll(&records));
  }
  const int64_t killed_at = client.Kill();
  ReceiveToTheEnd();
  RecordTime(killed_at);
}

TEST_P(TransportDeathTest, AServerBlockedOnAFullRingSeesItsClientsDeath) {
  Listen();
  TestProcess client(Peer(), {"connect", target_, "silent"});
  ASSERT_EQ(client.ReadLine(), "ready");
  Connection* const connection = Accepted();
  ASSERT_NE(connection, nullptr);
  ExpectThatABlockedWriterSeesTheDeathOf(client, *connection);
}

TEST_P(TransportDeathTest, NobodyNeedsToWaitForADeathToBeNoticed) {
  TestProcess server(Peer(), {"listen", target_, "serve"});
  ASSERT_EQ(server.ReadLine(), "ready");
  auto connection = Connect(target_, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  const int64_t killed_at = server.Kill();
  const Deadline deadline = Deadline::After(kSoon);
  while (!(*connection)->closed() && !deadline.passed()) sched_yield();
  RecordTime(killed_at);
  EXPECT_EQ((*connection)->status(), absl::UnavailableError("Socket closed"));
}

TEST_P(TransportDeathTest, AReaderSeesItsServersDeathWhetherItSpinsOrSleeps) {
  for (const auto spin : {std::chrono::nanoseconds(0), SpinOptions().limit}) {
    TestProcess server(Peer(), {"listen", target_, "serve"});
    ASSERT_EQ(server.ReadLine(), "ready");
    ConnectOptions options;
    options.spin.limit = spin;
    auto connection = Connect(target_, options, Deadline::After(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    ExpectThatAReaderSeesTheDeathOf(server, **connection);
  }
}

TEST_P(TransportDeathTest, AWriterBlockedOnAFullRingSeesItsServersDeath) {
  TestProcess server(Peer(), {"listen", target_, "serve"});
  ASSERT_EQ(server.ReadLine(), "ready");
  auto connection = Connect(target_, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  ExpectThatABlockedWriterSeesTheDeathOf(server, **connection);
}

TEST_P(TransportDeathTest, AServerThatIsKilledWithinTheHandshakeIsNoticed) {
  TestProcess server(Peer(), {"listen", target_, "stall"});
  ASSERT_EQ(server.ReadLine(), "ready");
  std::thread killing([&] {
    EXPECT_EQ(server.ReadLine(), "stalled");
    server.Kill();
  });
  EXPECT_EQ(Connect(target_, {}, Deadline::After(kSoon)).status(),
            absl::UnavailableError("Socket closed"));
  killing.join();
}

// ---- In containers

constexpr char kUnshare[] = "/usr/bin/unshare";

TEST_P(TransportDeathTest, AClientOfAnotherPidNamespaceIsServedAndItsDeathNoticed) {
  Listen();
  TestProcess client(kUnshare, {"--map-current-user", "-Upf", "--mount-proc", "--kill-child=KILL",
                                Peer(), "connect", target_, "silent"});
  if (client.ReadLine() != "ready") GTEST_SKIP() << "this system refuses unshare -Up";
  ASSERT_NE(Accepted(), nullptr);
  const int64_t killed_at = client.Kill();
  EXPECT_TRUE(ReceiveToTheEnd().empty());
  RecordTime(killed_at);
}

TEST_P(TransportDeathTest, AServerOfAnotherPidNamespaceServesAndItsDeathIsNoticed) {
  TestProcess server(kUnshare, {"--map-current-user", "-Upf", "--mount-proc", "--kill-child=KILL",
                                Peer(), "listen", target_, "serve"});
  if (server.ReadLine() != "ready") GTEST_SKIP() << "this system refuses unshare -Up";
  auto connection = Connect(target_, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  ExpectThatAReaderSeesTheDeathOf(server, **connection);
}

TEST_P(TransportDeathTest, APeerOfAUserNamespaceThatMapsNobodyIsRefused) {
  Listen();
  TestProcess client(kUnshare, {"-U", Peer(), "connect", target_, "try"});
  const std::string line = client.ReadLine();
  if (line == "<end>") GTEST_SKIP() << "this system refuses unshare -U";
  EXPECT_NE(line.find("PERMISSION_DENIED: "), std::string::npos) << line;
  EXPECT_NE(line.find("65534"), std::string::npos) << line;
}

// Files of a directory whose names have `part` in them.
int FilesIn(const std::string& directory, const std::string& part) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().filename().string().find(part) != std::string::npos) ++count;
  }
  return count;
}

TEST_P(TransportDeathTest, ADeadServerLeavesItsSocketAtMostAndTheNextStartReplacesIt) {
  for (int round = 0; round < 3; ++round) {
    TestProcess server(Peer(), {"listen", target_, "serve"});
    ASSERT_EQ(server.ReadLine(), "ready");
    EXPECT_TRUE(Connect(target_, {}, Deadline::After(kSoon)).ok());
    server.Kill();
    server.Wait();
    EXPECT_TRUE(absl::IsUnavailable(Connect(target_, {}, Deadline::After(kSoon)).status()));
    EXPECT_EQ(FilesIn(directory_, ""), 1);
    EXPECT_EQ(FilesIn("/dev/shm", "locket"), 0);
  }
}

TEST_P(TransportDeathTest, NobodyListeningIsUnavailableAndSaysWhy) {
  const absl::Status status = Connect(target_, {}, Deadline::After(kSoon)).status();
  EXPECT_EQ(status, absl::UnavailableError(target_ + ": No such file or directory"));
}

}  // namespace
}  // namespace locket::transport
