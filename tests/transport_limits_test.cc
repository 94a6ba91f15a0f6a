// A process that has run out of what the system gives, or whose system calls signals interrupt: the
// error says what is missing, nothing spins, and afterwards everything works again.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "locket/tests/crash_traffic.h"
#include "locket/tests/test_process.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/log.h"
#include "locket/transport/mutex.h"

namespace locket::tests {
namespace {

using transport::CondVar;
using transport::Deadline;
using transport::Mutex;
using transport::MutexLock;
using transport::ReadResult;
using transport::Record;
using transport::WaitResult;

constexpr auto kSoon = std::chrono::seconds(10);

std::string Peer() { return getenv("PEER"); }

std::string UniqueTarget() {
  static std::atomic<int> count{0};
  return absl::StrCat("unix-abstract:locket-limits-", getpid(), "-", count++);
}

// The lines that Locket logs while this object lives.
class Logged {
 public:
  Logged() {
    SetLogSink([this](LogSeverity, std::string_view line) {
      MutexLock lock(mutex_);
      lines_.emplace_back(line);
      changed_.NotifyAll();
    });
  }
  ~Logged() { SetLogSink(nullptr); }

  // The line of this number (from 0), which is waited for; empty if none comes within 10 s.
  std::string Line(size_t number) {
    const Deadline deadline = Deadline::After(kSoon);
    MutexLock lock(mutex_);
    while (lines_.size() <= number) {
      if (!changed_.WaitUntil(mutex_, deadline)) return "";
    }
    return lines_[number];
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

// A resource limit of this process, until the object goes.
class Limit {
 public:
  Limit(int resource, rlim_t soft) : resource_(resource) {
    getrlimit(static_cast<__rlimit_resource>(resource_), &before_);
    struct rlimit now = before_;
    now.rlim_cur = soft;
    EXPECT_EQ(setrlimit(static_cast<__rlimit_resource>(resource_), &now), 0);
  }
  ~Limit() { setrlimit(static_cast<__rlimit_resource>(resource_), &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  const int resource_;
  struct rlimit before_ = {};
};

// The lowest number that no descriptor has: as a limit, it leaves none.
rlim_t NoDescriptorLeft() {
  const int next = dup(0);
  close(next);
  return static_cast<rlim_t>(next);
}

uint64_t AddressSpace() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Too little for another segment, whose rings take 256 KiB of addresses.
rlim_t NoMemoryLeft() { return AddressSpace() + 2 * kCrashRingSize; }

// A sanitizer reserves terabytes, and needs more when it likes.
bool AddressesCanBeLimited() { return AddressSpace() < uint64_t{1} << 36; }

void ExpectService(const std::string& target) {
  auto connection = transport::Connect(target, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  SharedSender sender(**connection, nullptr, nullptr);
  ASSERT_TRUE(sender.Send(0, 0));
  EXPECT_EQ((*connection)->WaitReadable(Deadline::After(kSoon), (*connection)->interrupts()),
            WaitResult::kReady);
}

TEST(TransportLimitsTest, AClientWithoutADescriptorLeftIsTold) {
  const std::string target = UniqueTarget();
  auto server = CrashServer::Start({target, nullptr, nullptr});
  ASSERT_TRUE(server.ok()) << server.status();
  ExpectService(target);
  {
    const Limit limit(RLIMIT_NOFILE, NoDescriptorLeft());
    const absl::Status status = transport::Connect(target, {}, Deadline::After(kSoon)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
  ExpectService(target);
}

// Would reveal an accept loop that tries again and again: it has 20 tries a second.
TEST(TransportLimitsTest, AServerWithoutADescriptorLeftRestsAndServesWhenItHasOne) {
  Logged logged;
  const std::string target = UniqueTarget();
  auto server = CrashServer::Start({target, nullptr, nullptr});
  ASSERT_TRUE(server.ok()) << server.status();
  // The client first, as starting it takes descriptors.
  TestProcess client(Peer(), {"later", target});
  ASSERT_EQ(client.ReadLine(), "ready");
  {
    const int64_t before = transport::MonotonicNanos();
    const Limit limit(RLIMIT_NOFILE, NoDescriptorLeft());
    client.Signal(SIGUSR1);
    EXPECT_TRUE(absl::StrContains(logged.Line(0), "Too many open files")) << logged.Line(0);
    // The next line comes a second later, and tells how many there were.
    const std::string second = logged.Line(1);
    const int64_t seconds = (transport::MonotonicNanos() - before) / 1'000'000'000 + 1;
    const size_t at = second.find("(and ");
    ASSERT_NE(at, std::string::npos) << second;
    EXPECT_LE(atoi(second.c_str() + at + 5), 25 * seconds) << second;
  }
  EXPECT_EQ(client.ReadLine(), "connected");
}

TEST(TransportLimitsTest, AClientWithoutMemoryLeftIsTold) {
  if (!AddressesCanBeLimited()) GTEST_SKIP() << "a sanitizer has the addresses";
  const std::string target = UniqueTarget();
  TestProcess server(Peer(), {"serve", target});
  ASSERT_EQ(server.ReadLine(), "ready");
  ASSERT_TRUE(transport::Connect(target, {}, Deadline::After(kSoon)).ok());
  {
    const Limit limit(RLIMIT_AS, NoMemoryLeft());
    const absl::Status status = transport::Connect(target, {}, Deadline::After(kSoon)).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  }
  EXPECT_TRUE(transport::Connect(target, {}, Deadline::After(kSoon)).ok());
}

TEST(TransportLimitsTest, AServerWithoutMemoryLeftRefusesWithTheReasonAndServesWhenItHasSome) {
  if (!AddressesCanBeLimited()) GTEST_SKIP() << "a sanitizer has the addresses";
  Logged logged;
  const std::string target = UniqueTarget();
  auto server = CrashServer::Start({target, nullptr, nullptr});
  ASSERT_TRUE(server.ok()) << server.status();
  TestProcess client(Peer(), {"later", target});
  ASSERT_EQ(client.ReadLine(), "ready");
  {
    const Limit limit(RLIMIT_AS, NoMemoryLeft());
    client.Signal(SIGUSR1);
    const std::string said = client.ReadLine();
    EXPECT_TRUE(absl::StrContains(said, "RESOURCE_EXHAUSTED")) << said;
    EXPECT_TRUE(absl::StrContains(said, "Cannot allocate memory")) << said;
    EXPECT_TRUE(absl::StrContains(logged.Line(0), "Cannot allocate memory")) << logged.Line(0);
  }
  ExpectService(target);
}

// Nothing of ours is there, so its size does not matter; segments have no names.
TEST(TransportLimitsTest, ASmallSharedMemoryFolderDoesNotMatter) {
  const std::string target = UniqueTarget();
  TestProcess server(
      "/usr/bin/unshare",
      {"--user", "--map-root-user", "--mount", "/bin/sh", "-c",
       "mount -t tmpfs -o size=64k none /dev/shm && exec \"$0\" serve \"$1\"", Peer(), target});
  const std::string said = server.ReadLine();
  if (said == "<end>") GTEST_SKIP() << "no namespaces here";
  ASSERT_EQ(said, "ready");
  auto connection = transport::Connect(target, {}, Deadline::After(kSoon));
  ASSERT_TRUE(connection.ok()) << connection.status();
  // As much as the ring holds, many times the folder's size.
  while (uint8_t* const room = (*connection)->TryReserve(4000)) {
    room[0] = room[3999] = 1;
    (*connection)->Commit(4000);
  }
  EXPECT_FALSE((*connection)->closed());
}

// ---- Signals

void OnAlarm(int) {}

// SIGALRM ten thousand times a second, without SA_RESTART: each wait is interrupted.
class AlarmStorm {
 public:
  AlarmStorm() {
    struct sigaction action = {};
    action.sa_handler = OnAlarm;
    sigaction(SIGALRM, &action, &before_);
    const struct itimerval often = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~AlarmStorm() {
    const struct itimerval never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
    // One may be on its way.
    struct sigaction ignored = {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGALRM, &ignored, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_ = {};
};

// Would reveal an EINTR that is taken for an error, for a deadline, or for a wake-up.
TEST(TransportLimitsTest, AStormOfSignalsDisturbsNoHandshakeAndNoWait) {
  const AlarmStorm storm;
  const std::string target = UniqueTarget();
  auto server = CrashServer::Start({target, nullptr, nullptr});
  ASSERT_TRUE(server.ok()) << server.status();
  for (int i = 0; i < 20; ++i) {
    transport::ConnectOptions options;
    options.spin.limit = std::chrono::nanoseconds(0);
    auto connection = transport::Connect(target, options, Deadline::After(kSoon));
    ASSERT_TRUE(connection.ok()) << connection.status();
    SharedSender sender(**connection, nullptr, nullptr);
    RecordChecker answers;
    for (uint32_t j = 0; j < 50; ++j) {
      ASSERT_TRUE(sender.Send(0, j));
      Record record;
      for (;;) {
        const uint32_t interrupts = (*connection)->interrupts();
        const ReadResult result = (*connection)->TryReceive(&record);
        if (result == ReadResult::kRecord) break;
        ASSERT_EQ(result, ReadResult::kEmpty);
        ASSERT_EQ((*connection)->WaitReadable(Deadline::After(kSoon), interrupts),
                  WaitResult::kReady);
      }
      ASSERT_EQ(answers.Check(record.data, record.size), "");
      (*connection)->Release();
    }
    // A wait that nobody ends lasts to its deadline, and no longer or shorter.
    const Deadline deadline = Deadline::AfterNanos(2'000'000);
    EXPECT_EQ((*connection)->WaitReadable(deadline, (*connection)->interrupts()),
              WaitResult::kDeadline);
    EXPECT_TRUE(deadline.passed());
  }
}

}  // namespace
}  // namespace locket::tests
