// What is left behind: after many clients that were killed or closed, and after servers that were
// killed and started again at once. Nothing, but at most the socket's file, which the next server
// takes over.
//
// CRASH_CYCLES is the number of connect/close cycles (500, if it is not set).
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

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
constexpr int kKilledClients = 200;
constexpr int kRestarts = 100;

std::string Peer() { return getenv("PEER"); }

int Cycles() {
  const char* const text = getenv("CRASH_CYCLES");
  return text == nullptr ? 500 : atoi(text);
}

class RestartTest : public testing::Test {
 protected:
  RestartTest() {
    char name[] = "/tmp/locket-XXXXXX";
    directory_ = mkdtemp(name);
    target_ = "unix:" + directory_ + "/s";
    shared_memory_ = FilesInSharedMemory();
  }
  ~RestartTest() override { std::filesystem::remove_all(directory_); }

  // Files that Locket could have left there, by any name: a test has /dev/shm to itself.
  static size_t FilesInSharedMemory() {
    size_t count = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      ++count;
    }
    return count;
  }

  std::string FilesInDirectory() {
    std::string names;
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
      absl::StrAppend(&names, file.path().filename().string(), " ");
    }
    return names;
  }

  void ExpectNothingLeft(const std::string& in_directory) {
    EXPECT_EQ(FilesInDirectory(), in_directory);
    EXPECT_EQ(FilesInSharedMemory(), shared_memory_);
  }

  // An exchange of two records with whoever listens.
  void ExpectService() {
    auto connection = transport::Connect(target_, {}, Deadline::After(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    SharedSender sender(**connection, nullptr, nullptr);
    ASSERT_TRUE(sender.Send(0, 0));
    ASSERT_EQ((*connection)->WaitReadable(Deadline::After(kSoon), (*connection)->interrupts()),
              transport::WaitResult::kReady);
    transport::Record record;
    ASSERT_EQ((*connection)->TryReceive(&record), transport::ReadResult::kRecord);
    RecordChecker checker;
    EXPECT_EQ(checker.Check(record.data, record.size), "");
    (*connection)->Release();
  }

  std::string directory_;
  std::string target_;
  size_t shared_memory_ = 0;
};

TEST_F(RestartTest, AfterTwoHundredClientsThatWereKilledTheNextOneIsServedAndNothingIsHeld) {
  auto server = CrashServer::Start({target_, nullptr, nullptr});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string ledger = directory_ + "/ledger";
  ProcessResources before;
  for (int i = 0; i < kKilledClients; ++i) {
    TestProcess client(Peer(), {"connect", target_, ledger, "connected"});
    ASSERT_EQ(client.Wait(), -SIGKILL);
    ASSERT_TRUE((*server)->NextEnd().has_value()) << i;
    if (i == kKilledClients / 10) before = ProcessResources::Now();
  }
  const ProcessResources after = ProcessResources::Now();
  EXPECT_EQ(after.GrowthSince(before), "");
  EXPECT_EQ(after.segment_maps, 0);
  ExpectService();
  server->reset();
  std::filesystem::remove(ledger);
  ExpectNothingLeft("");
}

TEST_F(RestartTest, ConnectingAndClosingManyTimesLeavesBothSidesAsTheyWere) {
  auto server = CrashServer::Start({target_, nullptr, nullptr});
  ASSERT_TRUE(server.ok()) << server.status();
  TestProcess client(Peer(), {"cycle", target_, std::to_string(Cycles())});
  ProcessResources before;
  for (int i = 0; i < Cycles(); ++i) {
    const auto end = (*server)->NextEnd();
    ASSERT_TRUE(end.has_value()) << i;
    EXPECT_EQ(end->wrong, "");
    if (i == Cycles() / 10) before = ProcessResources::Now();
  }
  EXPECT_EQ(client.ReadLine(), "flat");
  RecordProperty("client", client.ReadLine());
  EXPECT_EQ(client.Wait(), 0);
  const ProcessResources after = ProcessResources::Now();
  RecordProperty("server", after.ToString());
  EXPECT_EQ(after.GrowthSince(before), "");
  EXPECT_EQ(after.segment_maps, 0);
  server->reset();
  ExpectNothingLeft("");
}

TEST_F(RestartTest, BothSidesKilledAHundredTimesStartAgainAtOnce) {
  const std::string ledger = directory_ + "/ledger";
  for (int round = 0; round < kRestarts; ++round) {
    SCOPED_TRACE(round);
    TestProcess server(Peer(), {"listen", target_, ledger, "none"});
    ASSERT_EQ(server.ReadLine(), "ready");
    TestProcess client(Peer(), {"connect", target_, ledger, "none"});
    ExpectService();
    if (HasFatalFailure()) return;
    client.Kill();
    server.Kill();
    // Who is dead is dead when wait() says so, and no later.
    ASSERT_EQ(client.Wait(), -SIGKILL);
    ASSERT_EQ(server.Wait(), -SIGKILL);
    std::filesystem::remove(ledger);
    ExpectNothingLeft("s ");
  }
}

}  // namespace
}  // namespace locket::tests
