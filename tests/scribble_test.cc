// Peers that are admitted, and then overwrite all the memory that they share while their victim
// reads and writes in it. The victim drops them with a reason, or goes on; it never crashes, hangs
// or spins, and another peer of the same user is served meanwhile.
//
// SCRIBBLE_SECONDS is how long each test takes (2, if it is not set).
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/tests/crash_traffic.h"
#include "locket/tests/test_process.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::tests {
namespace {

using transport::Connection;
using transport::Deadline;
using transport::Mutex;
using transport::MutexLock;
using transport::ReadResult;
using transport::Record;
using transport::WaitResult;
using transport::WaitSet;

constexpr auto kSoon = std::chrono::seconds(10);

std::string ScribblerProgram() { return getenv("SCRIBBLER"); }

Deadline EndOfTest() {
  const char* const text = getenv("SCRIBBLE_SECONDS");
  return Deadline::After(std::chrono::seconds(text == nullptr ? 2 : atoi(text)));
}

std::string UniqueTarget(const char* what) {
  static std::atomic<int> count{0};
  return absl::StrCat("unix-abstract:locket-scribble-", what, "-", getpid(), "-", count++);
}

// Reads every byte, as a parser would.
void Touch(const Record& record) {
  const volatile uint8_t* const bytes = record.data;
  for (size_t i = 0; i < record.size; ++i) static_cast<void>(bytes[i]);
}

// Why connections ended, and how often.
class Reasons {
 public:
  void Add(const absl::Status& status) {
    // A violation, or the scribbler hung up: nothing else ends a connection.
    EXPECT_TRUE(absl::IsInternal(status) || absl::IsUnavailable(status)) << status;
    ++violations_[absl::IsInternal(status)];
    ++total_;
  }
  int total() const { return total_; }
  int violations() { return violations_[true]; }

 private:
  int total_ = 0;
  std::map<bool, int> violations_;
};

// One round trip after another with a server that answers; each within 10 s.
class HonestClient {
 public:
  explicit HonestClient(const std::string& target) {
    auto connection = transport::Connect(target, {}, Deadline::After(kSoon));
    EXPECT_TRUE(connection.ok()) << connection.status();
    connection_ = *std::move(connection);
    sender_ = std::make_unique<SharedSender>(*connection_, nullptr, nullptr);
  }

  void RoundTrip() {
    const int64_t before = transport::MonotonicNanos();
    ASSERT_TRUE(sender_->Send(0, sequence_++)) << connection_->status();
    Record record;
    for (;;) {
      const uint32_t interrupts = connection_->interrupts();
      const ReadResult result = connection_->TryReceive(&record);
      if (result == ReadResult::kRecord) break;
      ASSERT_EQ(result, ReadResult::kEmpty) << connection_->status();
      ASSERT_EQ(connection_->WaitReadable(Deadline::After(kSoon), interrupts), WaitResult::kReady);
    }
    EXPECT_EQ(answers_.Check(record.data, record.size), "");
    connection_->Release();
    nanos_.push_back(transport::MonotonicNanos() - before);
  }

  // Recorded, never judged: the machine has what CPUs it has.
  void RecordLatency() {
    std::sort(nanos_.begin(), nanos_.end());
    testing::Test::RecordProperty("round_trips", static_cast<int>(nanos_.size()));
    testing::Test::RecordProperty("p50_ns", std::to_string(nanos_[nanos_.size() / 2]));
    testing::Test::RecordProperty("p99_ns", std::to_string(nanos_[nanos_.size() * 99 / 100]));
    testing::Test::RecordProperty("max_ns", std::to_string(nanos_.back()));
  }

 private:
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<SharedSender> sender_;
  RecordChecker answers_;
  uint32_t sequence_ = 0;
  std::vector<int64_t> nanos_;
};

// A server over one wait set. It answers every record, and believes nothing of what is in it.
class VictimServer {
 public:
  explicit VictimServer(const std::string& target) {
    transport::ListenOptions options;
    options.ring_size = 64 << 10;
    auto listener = transport::Listener::Listen(
        target, options, [this](std::unique_ptr<Connection> connection) {
          MutexLock lock(mutex_);
          Client& client = clients_[connection.get()];
          client.connection = std::move(connection);
          EXPECT_TRUE(set_->Add(client.connection.get(), &client).ok());
        });
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    thread_ = std::thread([this] { Serve(); });
  }

  ~VictimServer() {
    stopping_.store(true);
    set_->Wake();
    thread_.join();
    listener_.reset();
    MutexLock lock(mutex_);
    for (auto& [connection, client] : clients_) set_->Remove(connection);
  }

  // Sleeps, and so does not spin. Ask when nobody sends.
  [[nodiscard]] bool ComesToRest() {
    const Deadline deadline = Deadline::After(kSoon);
    while (!set_->parked()) {
      if (deadline.passed()) return false;
      std::this_thread::yield();
    }
    return true;
  }

  Reasons reasons() {
    MutexLock lock(mutex_);
    return reasons_;
  }

 private:
  struct Client {
    std::unique_ptr<Connection> connection;
    uint32_t answers = 0;
  };

  void Serve() {
    while (!stopping_.load()) {
      auto* const client = static_cast<Client*>(set_->Wait(Deadline::Infinite()));
      if (client == nullptr || ServeOne(*client)) continue;
      set_->Remove(client->connection.get());
      MutexLock lock(mutex_);
      reasons_.Add(client->connection->status());
      clients_.erase(client->connection.get());
    }
  }

  bool ServeOne(Client& client) {
    Connection& connection = *client.connection;
    Record record;
    switch (connection.TryReceive(&record)) {
      case ReadResult::kEmpty:
        return true;
      case ReadResult::kEnd:
        return false;
      case ReadResult::kRecord:
        break;
    }
    EXPECT_LE(record.size, connection.max_record());
    Touch(record);
    connection.Release();
    const size_t size = CrashRecordSize(0, client.answers);
    const uint32_t interrupts = connection.interrupts();
    uint8_t* room = connection.TryReserve(size);
    if (room == nullptr) {
      // A writer's wait too, on words that the scribbler changes; not for long, as others wait.
      connection.WaitWritable(size, Deadline::AfterNanos(100'000), interrupts);
      room = connection.TryReserve(size);
    }
    if (room == nullptr) return true;
    FillCrashRecord(room, 0, client.answers++);
    connection.Commit(size);
    return true;
  }

  const std::unique_ptr<WaitSet> set_ = *WaitSet::Create();
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  std::map<Connection*, Client> clients_ ABSL_GUARDED_BY(mutex_);
  Reasons reasons_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<transport::Listener> listener_;
  std::thread thread_;
};

// Would reveal an index that is used unchecked, a length read twice, a wait that the peer can keep.
TEST(ScribbleTest, AServerDropsAClientThatOverwritesItsSegmentAndServesTheOther) {
  const std::string target = UniqueTarget("client");
  VictimServer server(target);
  HonestClient honest(target);
  honest.RoundTrip();
  TestProcess scribbler(ScribblerProgram(), {"connect", target});
  ASSERT_EQ(scribbler.ReadLine(), "ready");
  // At least until every way in which it scribbles has had its turn.
  const Deadline end = EndOfTest();
  Deadline next = Deadline::After(kSoon);
  for (int ended = 0; !end.passed() || ended < 8;) {
    honest.RoundTrip();
    if (testing::Test::HasFatalFailure()) return;
    if (server.reasons().total() > ended) {
      ended = server.reasons().total();
      next = Deadline::After(kSoon);
    }
    ASSERT_FALSE(next.passed()) << "the scribbler is not let go within 10 s";
  }
  honest.RecordLatency();
  EXPECT_GE(server.reasons().violations(), 1);
  testing::Test::RecordProperty("connections", server.reasons().total());
  testing::Test::RecordProperty("violations", server.reasons().violations());

  // Stopped in the middle of it, it leaves nothing in the segment that keeps the server awake.
  scribbler.Signal(SIGSTOP);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(scribbler.pid()), &info, WSTOPPED), 0);
  EXPECT_TRUE(server.ComesToRest());
  scribbler.Kill();
  scribbler.Wait();
  honest.RoundTrip();
}

// The client's side of the same: a server that scribbles, while one thread reads and one writes.
TEST(ScribbleTest, AClientDropsAServerThatOverwritesItsSegmentAndKeepsTheOther) {
  const std::string target = UniqueTarget("server");
  TestProcess scribbler(ScribblerProgram(), {"listen", target});
  ASSERT_EQ(scribbler.ReadLine(), "ready");
  const std::string honest_target = UniqueTarget("honest");
  VictimServer honest_server(honest_target);
  HonestClient honest(honest_target);
  Reasons reasons;
  int connections = 0;
  const Deadline end = EndOfTest();
  while (!end.passed() || connections < 8) {
    ++connections;
    auto connected = transport::Connect(target, {}, Deadline::After(kSoon));
    ASSERT_TRUE(connected.ok()) << connected.status();
    Connection& connection = **connected;
    std::thread writing([&] {
      for (uint32_t i = 0; !connection.closed(); ++i) {
        const size_t size = CrashRecordSize(0, i);
        const uint32_t interrupts = connection.interrupts();
        if (uint8_t* const room = connection.TryReserve(size)) {
          FillCrashRecord(room, 0, i);
          connection.Commit(size);
        } else {
          connection.WaitWritable(size, Deadline::After(kSoon), interrupts);
        }
      }
    });
    for (bool open = true; open;) {
      const uint32_t interrupts = connection.interrupts();
      Record record;
      switch (connection.TryReceive(&record)) {
        case ReadResult::kRecord:
          EXPECT_LE(record.size, connection.max_record());
          Touch(record);
          connection.Release();
          break;
        case ReadResult::kEmpty:
          // The scribbler hangs up after a while, which ends this wait at the latest.
          open =
              connection.WaitReadable(Deadline::After(kSoon), interrupts) != WaitResult::kDeadline;
          EXPECT_TRUE(open) << "neither a record nor an end within 10 s";
          break;
        case ReadResult::kEnd:
          open = false;
          break;
      }
    }
    connection.Close(absl::CancelledError("the test is over"));
    writing.join();
    reasons.Add(connection.status());
    honest.RoundTrip();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(reasons.violations(), 1);
  honest.RecordLatency();
  testing::Test::RecordProperty("connections", reasons.total());
  testing::Test::RecordProperty("violations", reasons.violations());
}

}  // namespace
}  // namespace locket::tests
