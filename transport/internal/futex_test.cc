// Sleeping on a shared and a local word, on a kernel with futex_waitv and on one without.
#include "locket/transport/internal/futex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "locket/transport/internal/kernel_features.h"

namespace locket::transport::internal {
namespace {

constexpr auto kSoon = std::chrono::seconds(10);

KernelFeatures WithWaitv(bool waitv) {
  KernelFeatures features;
  features.futex_waitv = waitv;
  return features;
}

class FutexTest : public testing::TestWithParam<bool> {
 protected:
  // Sleeps until the local word is no longer `expected`; false after 10 s.
  bool SleepUntilLocalChanges(uint32_t expected) {
    const Deadline deadline = Deadline::After(kSoon);
    while (local_.load() == expected) {
      if (deadline.passed()) return false;
      FutexWaitTwo({&shared_, 1}, {&local_, expected}, deadline);
    }
    return true;
  }

  const ScopedKernelFeatures features_{WithWaitv(GetParam())};
  std::atomic<uint32_t> shared_{1};
  std::atomic<uint32_t> local_{0};
};

INSTANTIATE_TEST_SUITE_P(All, FutexTest, testing::Bool(), [](const auto& info) {
  return info.param ? "WithWaitv" : "WithoutWaitv";
});

TEST_P(FutexTest, AWordThatHasChangedIsNotSleptOn) {
  FutexWaitTwo({&shared_, 2}, {&local_, 0}, Deadline::Infinite());
  FutexWaitTwo({&shared_, 1}, {&local_, 3}, Deadline::Infinite());
}

TEST_P(FutexTest, ASleepEndsByItsDeadline) {
  const Deadline deadline = Deadline::AfterNanos(2'000'000);
  while (!deadline.passed()) FutexWaitTwo({&shared_, 1}, {&local_, 0}, deadline);
}

TEST_P(FutexTest, TheSharedWordsChangeEndsASleep) {
  std::thread waker([this] {
    shared_.store(2);
    FutexWakeShared(shared_);
  });
  const Deadline deadline = Deadline::After(kSoon);
  while (shared_.load() == 1) {
    ASSERT_FALSE(deadline.passed());
    FutexWaitTwo({&shared_, 1}, {&local_, 0}, deadline);
  }
  waker.join();
}

// Would reveal a change of the local word that is lost between the sleeper's look and its sleep.
TEST_P(FutexTest, EveryChangeOfTheLocalWordEndsASleepThoughTheSharedOneStays) {
  std::atomic<uint32_t> seen{0};
  std::thread sleeper([&] {
    for (uint32_t i = 0; i < 2000; ++i) {
      ASSERT_TRUE(SleepUntilLocalChanges(i)) << i;
      seen.store(i + 1);
    }
  });
  const Deadline deadline = Deadline::After(6 * kSoon);
  for (uint32_t i = 0; i < 2000; ++i) {
    local_.store(i + 1);
    FutexWakeLocal(local_);
    while (seen.load() != i + 1 && !deadline.passed()) std::this_thread::yield();
  }
  sleeper.join();
}

// Would reveal a waker that waits for those who sleep rightly, on the value that is there now.
TEST_P(FutexTest, AWakeDoesNotWaitForSleepersOfAnotherWord) {
  std::atomic<bool> sleeps{false};
  std::thread sleeper([&] {
    sleeps.store(true);
    EXPECT_TRUE(SleepUntilLocalChanges(0));
  });
  while (!sleeps.load()) std::this_thread::yield();
  std::atomic<uint32_t> other{0};
  other.store(1);
  FutexWakeLocal(other);
  local_.store(1);
  FutexWakeLocal(local_);
  sleeper.join();
}

}  // namespace
}  // namespace locket::transport::internal
