// Traffic over connections of the transport, for processes that are killed in the middle of it:
// records that show whether they are whole and in order, eight threads that send them, a server
// that answers them, and a ledger that outlives its writer.
#ifndef LOCKET_TESTS_CRASH_TRAFFIC_H_
#define LOCKET_TESTS_CRASH_TRAFFIC_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "locket/transport/connection.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::tests {

inline constexpr uint32_t kSenders = 8;
inline constexpr size_t kCrashRingSize = 64 << 10;

// Where a process is, or may be killed.
enum class Moment {
  kNegotiating,  // In the handshake, on the server's side.
  kAccepted,     // A server's first look at its connection.
  kReserved,     // A record lies half written in the ring, uncommitted.
  kCommitted,    // Commit() has returned, and nothing else has happened.
  kHolding,      // A received record is not released yet.
};
using Hook = std::function<void(Moment)>;

// How many records each sender has committed: in a file that both processes map, so that it tells
// the truth about a process that was killed.
struct Ledger {
  std::array<std::atomic<uint32_t>, kSenders> committed;

  // Maps the file at `path`, which is made if it is not there. Never unmapped.
  static Ledger* Map(const std::string& path);
};

// ---- Records: who sent it, as which one, a checksum, and noise of a length that varies.

size_t CrashRecordSize(uint32_t sender, uint32_t sequence);
void FillCrashRecord(uint8_t* room, uint32_t sender, uint32_t sequence);

// Receives the records of one direction of one connection.
class RecordChecker {
 public:
  // Empty if the record is whole and the next one of its sender; else what is wrong.
  std::string Check(const uint8_t* data, size_t size);

  uint32_t received(uint32_t sender) const { return received_[sender]; }
  uint32_t received() const;

  // Empty if everything was received that the ledger says is committed, and at most one record of
  // each sender more (it died between the commit and the entry).
  std::string CompareTo(const Ledger& ledger) const;

 private:
  std::array<uint32_t, kSenders> received_ = {};
};

// Sends the sender's next records over the connection, from any of the threads that share this
// object: a lock of the process, none in shared memory.
class SharedSender {
 public:
  SharedSender(transport::Connection& connection, Ledger* ledger, Hook hook)
      : connection_(connection), ledger_(ledger), hook_(std::move(hook)) {}

  // Waits for room; false once the connection has ended.
  bool Send(uint32_t sender, uint32_t sequence);

 private:
  transport::Connection& connection_;
  Ledger* const ledger_;
  const Hook hook_;
  transport::Mutex mutex_;
};

// Eight threads that send until the connection ends.
class SendingThreads {
 public:
  SendingThreads(transport::Connection& connection, Ledger* ledger, Hook hook);
  ~SendingThreads();

 private:
  SharedSender sender_;
  std::vector<std::thread> threads_;
};

// Receives on a connecting end until it ends; what was wrong, or empty.
std::string ReceiveToTheEnd(transport::Connection& connection, RecordChecker* checker,
                            const Hook& hook);

// Answers each record with one of its own, where there is room for it; one thread, one wait set.
class CrashServer {
 public:
  struct Options {
    std::string target;
    Ledger* ledger = nullptr;  // Of the answers.
    Hook hook;
  };
  // How a connection ended, and what had come.
  struct End {
    pid_t client = 0;
    RecordChecker received;
    std::string wrong;
    absl::Status status;
  };

  static absl::StatusOr<std::unique_ptr<CrashServer>> Start(Options options);
  ~CrashServer();

  // Reads nothing until told to go on.
  void Pause(bool paused);

  // The next end of a connection, of `client`'s if it is not 0; it is waited for 10 s.
  std::optional<End> NextEnd(pid_t client = 0);

  size_t clients();
  // Sleeps, for want of records.
  bool parked() const { return set_->parked(); }

  // Records received so far, of all connections.
  uint64_t received() const { return received_.load(std::memory_order_relaxed); }

 private:
  struct Client {
    std::unique_ptr<transport::Connection> connection;
    End end;
    uint32_t answers = 0;
  };

  explicit CrashServer(Options options) : options_(std::move(options)) {}
  void Serve();
  bool ServeOne(Client& client);
  void At(Moment moment) {
    if (options_.hook) options_.hook(moment);
  }

  const Options options_;
  const std::unique_ptr<transport::WaitSet> set_ = *transport::WaitSet::Create();
  std::atomic<uint64_t> received_{0};
  std::atomic<bool> stopping_{false};
  transport::Mutex mutex_;
  transport::CondVar changed_;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<End> ends_ ABSL_GUARDED_BY(mutex_);
  std::map<transport::Connection*, Client> clients_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<transport::Listener> listener_;
  std::thread thread_;
};

}  // namespace locket::tests

#endif  // LOCKET_TESTS_CRASH_TRAFFIC_H_
