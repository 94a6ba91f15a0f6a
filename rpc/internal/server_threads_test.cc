// Who reads while handlers block. A script stands for the connections of a server.
#include "locket/rpc/internal/server_threads.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locket/transport/deadline.h"
#include "locket/transport/mutex.h"

namespace locket::internal {
namespace {

using transport::CondVar;
using transport::Deadline;
using transport::Mutex;
using transport::MutexLock;

class Job final : public Readable::Work {
 public:
  explicit Job(std::function<void()> body) : body_(std::move(body)) {}
  void Run() override { body_(); }

 private:
  std::function<void()> body_;
};

// Jobs to be read, one at a time.
class Script final : public Readable {
 public:
  void Add(std::function<void()> body) {
    MutexLock lock(mutex_);
    jobs_.push_back(std::make_unique<Job>(std::move(body)));
    changed_.NotifyAll();
  }

  Work* Read() override {
    // Two readers at once would be what ReadingRole excludes.
    EXPECT_FALSE(reading_.exchange(true));
    Work* work = nullptr;
    {
      MutexLock lock(mutex_);
      parked_ = true;
      while (next_ == jobs_.size() && !woken_) changed_.Wait(mutex_);
      parked_ = false;
      woken_ = false;
      if (next_ < jobs_.size()) work = jobs_[next_++].get();
    }
    EXPECT_TRUE(reading_.exchange(false));
    return work;
  }

  void Wake() override {
    MutexLock lock(mutex_);
    woken_ = true;
    changed_.NotifyAll();
  }

  bool parked() const override { return parked_; }

 private:
  std::atomic<bool> reading_{false};
  std::atomic<bool> parked_{false};
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::unique_ptr<Job>> jobs_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
};

// Counts up; others wait for it.
class Counter {
 public:
  void Add() {
    MutexLock lock(mutex_);
    ++count_;
    changed_.NotifyAll();
  }
  [[nodiscard]] bool WaitFor(int count) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(10));
    MutexLock lock(mutex_);
    while (count_ < count) {
      if (!changed_.WaitUntil(mutex_, deadline)) return count_ >= count;
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::unique_ptr<ServerThreads> Start(Readable& readable) {
  absl::StatusOr<std::unique_ptr<ServerThreads>> threads = ServerThreads::Start(readable);
  EXPECT_TRUE(threads.ok()) << threads.status();
  return *std::move(threads);
}

// Twenty quick handlers; how many of them ran on the thread of the first.
int OnOneThread() {
  Script script;
  Counter done;
  Mutex mutex;
  std::vector<std::thread::id> threads_seen;
  std::unique_ptr<ServerThreads> threads = Start(script);
  for (int i = 0; i < 20; ++i) {
    script.Add([&] {
      {
        MutexLock lock(mutex);
        threads_seen.push_back(std::this_thread::get_id());
      }
      done.Add();
    });
  }
  EXPECT_TRUE(done.WaitFor(20));
  threads->Stop();
  int same = 0;
  for (const std::thread::id id : threads_seen) same += id == threads_seen[0];
  return same;
}

TEST(ServerThreadsTest, QuickHandlersRunOnOneThread) {
  // A slow machine may stop a thread for a tick at any time, and then it is not quick: so most, and
  // not each time.
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (OnOneThread() < 10) ASSERT_FALSE(deadline.passed());
}

// Would reveal a lost disarm-and-arm: then nobody takes over from the blocked handler.
TEST(ServerThreadsTest, ABlockedHandlerDoesNotStopTheReading) {
  Script script;
  std::unique_ptr<ServerThreads> threads = Start(script);
  for (int round = 0; round < 50; ++round) {
    auto go_on = std::make_shared<Counter>();
    auto returned = std::make_shared<Counter>();
    script.Add([go_on, returned] {
      EXPECT_TRUE(go_on->WaitFor(1));
      returned->Add();
    });
    script.Add([go_on] { go_on->Add(); });
    ASSERT_TRUE(returned->WaitFor(1)) << "round " << round;
  }
  threads->Stop();
}

TEST(ServerThreadsTest, FiftyHandlersMayBlockAtOnce) {
  Script script;
  Counter blocked;
  Counter go_on;
  Counter returned;
  std::unique_ptr<ServerThreads> threads = Start(script);
  for (int i = 0; i < 50; ++i) {
    script.Add([&] {
      blocked.Add();
      EXPECT_TRUE(go_on.WaitFor(1));
      returned.Add();
    });
  }
  EXPECT_TRUE(blocked.WaitFor(50));
  go_on.Add();
  EXPECT_TRUE(returned.WaitFor(50));
  threads->Stop();
}

TEST(ServerThreadsTest, StopWaitsForHandlers) {
  Script script;
  Counter blocked;
  Counter go_on;
  std::atomic<bool> returned{false};
  std::unique_ptr<ServerThreads> threads = Start(script);
  script.Add([&] {
    blocked.Add();
    EXPECT_TRUE(go_on.WaitFor(1));
    returned = true;
  });
  ASSERT_TRUE(blocked.WaitFor(1));
  std::thread helper([&] { go_on.Add(); });
  threads->Stop();
  EXPECT_TRUE(returned);
  helper.join();
}

// Would reveal a Stop() that meets the standby as it disarms, and is slept through.
TEST(ServerThreadsTest, StopEndsAllThreadsAtAnyMoment) {
  for (int round = 0; round < 100; ++round) {
    Script script;
    Counter done;
    std::unique_ptr<ServerThreads> threads = Start(script);
    for (int i = 0; i <= round % 3; ++i) script.Add([&] { done.Add(); });
    EXPECT_TRUE(done.WaitFor(round % 3));
    threads->Stop();
  }
}

// Whether no timer of this process is set, as the kernel tells it; and the number of timers.
bool NoTimerIsSet(int* timers) {
  *timers = 0;
  bool none = true;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(file.path());
    for (std::string line; std::getline(info, line);) {
      if (line.rfind("it_value:", 0) != 0) continue;
      ++*timers;
      none = none && line == "it_value: (0, 0)";
    }
  }
  return none;
}

// What else a server has are threads that sleep without a timeout, so then it uses no CPU. Would
// reveal a tick that goes on for ever.
TEST(ServerThreadsTest, AnIdleServerSleeps) {
  Script script;
  Counter done;
  std::unique_ptr<ServerThreads> threads = Start(script);
  for (int i = 1; i <= 5; ++i) {
    script.Add([&] { done.Add(); });
    ASSERT_TRUE(done.WaitFor(i));
    const Deadline deadline = Deadline::After(std::chrono::seconds(10));
    int timers = 0;
    while (!(script.parked() && NoTimerIsSet(&timers))) {
      ASSERT_FALSE(deadline.passed()) << "the tick goes on";
    }
    EXPECT_EQ(timers, 1);
  }
  threads->Stop();
}

}  // namespace
}  // namespace locket::internal
