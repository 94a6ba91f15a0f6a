// Processes that are killed at named points and at random instants, with eight threads sending: the
// survivor gets every record that was committed, whole and in order, then the end, at once; and it
// holds no more afterwards than before.
//
// CRASH_ROUNDS is the number of rounds of each test (40, if it is not set), CRASH_SEED what the
// random instants come from.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "locket/tests/crash_traffic.h"
#include "locket/tests/process_resources.h"
#include "locket/tests/test_process.h"
#include "locket/transport/endpoint.h"

namespace locket::tests {
namespace {

using transport::Connection;
using transport::Deadline;

constexpr auto kSoon = std::chrono::seconds(10);

int FromEnvironment(const char* name, int otherwise) {
  const char* const text = getenv(name);
  return text == nullptr ? otherwise : atoi(text);
}

int Rounds() { return FromEnvironment("CRASH_ROUNDS", 40); }

std::string Peer() { return getenv("PEER"); }

class CrashTest : public testing::Test {
 protected:
  CrashTest() : random_(static_cast<uint32_t>(Seed())) {
    char name[] = "/tmp/locket-XXXXXX";
    directory_ = mkdtemp(name);
    target_ = "unix:" + directory_ + "/s";
  }
  ~CrashTest() override { std::filesystem::remove_all(directory_); }

  static int Seed() {
    static const int seed = FromEnvironment("CRASH_SEED", static_cast<int>(std::random_device{}()));
    return seed;
  }

  // A ledger for one round, all zero.
  Ledger* NewLedger(int round) {
    std::filesystem::remove(ledger_path_);
    ledger_path_ = absl::StrCat(directory_, "/ledger-", round);
    if (ledger_ != nullptr) munmap(ledger_, sizeof(Ledger));
    ledger_ = Ledger::Map(ledger_path_);
    return ledger_;
  }

  // An instant within the traffic: up to 3 ms, which is not judged.
  void WaitForARandomInstant() {
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 3000));
  }

  // After the tenth part of the rounds, for what is made once; and at the end.
  void CountResources(int round) {
    if (round == std::max(2, Rounds() / 10)) before_ = ProcessResources::Now();
  }
  void ExpectFlat() {
    // What the last one leaves may take a moment to go.
    const Deadline deadline = Deadline::After(kSoon);
    ProcessResources after = ProcessResources::Now();
    while (!after.GrowthSince(before_).empty() && !deadline.passed()) {
      after = ProcessResources::Now();
    }
    EXPECT_EQ(after.GrowthSince(before_), "");
    RecordProperty("resources", after.ToString());
    EXPECT_EQ(after.segment_maps, 0);
  }

  std::mt19937 random_;
  std::string directory_;
  std::string target_;
  std::string ledger_path_;
  Ledger* ledger_ = nullptr;
  ProcessResources before_;
};

// ---- Clients that are killed

class KilledClientTest : public CrashTest {
 protected:
  void SetUp() override {
    auto server = CrashServer::Start({target_, nullptr, nullptr});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // The end of the client, which has just been killed.
  void ExpectItsRecordsThenTheEnd(const TestProcess& client) {
    const auto end = server_->NextEnd(client.pid());
    ASSERT_TRUE(end.has_value()) << "no end within 10 s";
    EXPECT_EQ(end->wrong, "");
    EXPECT_EQ(end->received.CompareTo(*ledger_), "");
    EXPECT_EQ(end->status, absl::UnavailableError("Socket closed"));
  }

  std::unique_ptr<CrashServer> server_;
};

// Would reveal a record that is lost or torn, a survivor that waits for ever, or leaks, whatever
// its client was just doing.
TEST_F(KilledClientTest, AtEachNamedPointTheServerGetsWhatWasCommittedThenTheEnd) {
  const std::string points[] = {"begin",   "connected", "reserved", "committed",
                                "holding", "blocked",   "parked",   "socket",
                                "hello",   "welcome",   "mapped",   "sealed"};
  for (int round = 0; round < std::max(Rounds(), 12); ++round) {
    const std::string& point = points[round % std::size(points)];
    SCOPED_TRACE(absl::StrCat("round ", round, ": ", point));
    NewLedger(round);
    server_->Pause(point == "blocked");
    TestProcess client(Peer(), {"connect", target_, ledger_path_, point});
    ASSERT_EQ(client.Wait(), -SIGKILL);
    server_->Pause(false);
    // Killed just after Mapped, it may have a connection or not.
    const bool has_connection = point != "begin" && point != "socket" && point != "hello" &&
                                point != "welcome" && point != "mapped";
    if (has_connection) ExpectItsRecordsThenTheEnd(client);
    if (HasFatalFailure()) return;
    CountResources(round);
  }
  ExpectFlat();
}

// Would reveal the same at the instants that nobody thought of. A lock in shared memory would hang
// it.
TEST_F(KilledClientTest, AtRandomInstantsOfEightSendersTheServerGetsWhatWasCommittedThenTheEnd) {
  RecordProperty("seed", Seed());
  for (int round = 0; round < Rounds(); ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round, " of seed ", Seed()));
    NewLedger(round);
    const uint64_t received = server_->received();
    TestProcess client(Peer(), {"connect", target_, ledger_path_, "none"});
    const Deadline deadline = Deadline::After(kSoon);
    while (server_->received() == received) {
      ASSERT_FALSE(deadline.passed()) << "no record within 10 s";
      std::this_thread::yield();
    }
    WaitForARandomInstant();
    client.Kill();
    ASSERT_EQ(client.Wait(), -SIGKILL);
    ExpectItsRecordsThenTheEnd(client);
    if (HasFatalFailure()) return;
    CountResources(round);
  }
  ExpectFlat();
}

// ---- Servers that are killed

class KilledServerTest : public CrashTest {
 protected:
  // Eight threads send to a server that dies at the point, or is killed soon.
  void Round(int round, const std::string& point) {
    NewLedger(round);
    TestProcess server(Peer(), {"listen", target_, ledger_path_, point});
    ASSERT_EQ(server.ReadLine(), "ready");
    auto connection = transport::Connect(target_, {}, Deadline::After(kSoon));
    const bool may_fail = point == "begin" || point == "negotiating" || point == "accepted";
    if (!connection.ok()) {
      EXPECT_TRUE(may_fail && absl::IsUnavailable(connection.status())) << connection.status();
      ASSERT_EQ(server.Wait(), -SIGKILL);
      return;
    }
    RecordChecker checker;
    if (point == "blocked") {
      // It fills our ring, which we read when it is dead.
      ASSERT_EQ(server.Wait(), -SIGKILL);
      EXPECT_EQ(ReceiveToTheEnd(**connection, &checker, nullptr), "");
    } else if (point == "parked") {
      EXPECT_EQ(ReceiveToTheEnd(**connection, &checker, nullptr), "");
    } else {
      const SendingThreads senders(**connection, nullptr, nullptr);
      std::thread killer;
      if (point == "none") {
        killer = std::thread([&] {
          WaitForARandomInstant();
          server.Kill();
        });
      }
      EXPECT_EQ(ReceiveToTheEnd(**connection, &checker, nullptr), "");
      if (killer.joinable()) killer.join();
    }
    ASSERT_EQ(server.Wait(), -SIGKILL);
    EXPECT_EQ(checker.CompareTo(*ledger_), "");
    EXPECT_EQ((*connection)->status(), absl::UnavailableError("Socket closed"));
  }
};

// Would reveal a client that waits for ever in some state, a blocked write among them.
TEST_F(KilledServerTest, AtEachNamedPointTheClientGetsWhatWasCommittedThenTheEnd) {
  const std::string points[] = {"begin",     "negotiating", "accepted", "reserved",
                                "committed", "holding",     "blocked",  "parked"};
  for (int round = 0; round < std::max(Rounds(), 8); ++round) {
    const std::string& point = points[round % std::size(points)];
    SCOPED_TRACE(absl::StrCat("round ", round, ": ", point));
    Round(round, point);
    if (HasFatalFailure()) return;
    CountResources(round);
  }
  ExpectFlat();
}

TEST_F(KilledServerTest, AtRandomInstantsOfEightSendersTheClientGetsWhatWasCommittedThenTheEnd) {
  RecordProperty("seed", Seed());
  for (int round = 0; round < Rounds(); ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round, " of seed ", Seed()));
    Round(round, "none");
    if (HasFatalFailure()) return;
    CountResources(round);
  }
  ExpectFlat();
}

}  // namespace
}  // namespace locket::tests
