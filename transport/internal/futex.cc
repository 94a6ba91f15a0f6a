#include "locket/transport/internal/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <list>

#include "locket/transport/internal/kernel_features.h"
#include "locket/transport/mutex.h"

namespace locket::transport::internal {
namespace {

struct futex_waitv Waiter(FutexWord word, uint32_t flags) {
  struct futex_waitv waiter = {};
  waiter.val = word.expected;
  waiter.uaddr = reinterpret_cast<uintptr_t>(word.word);
  waiter.flags = FUTEX_32 | flags;
  return waiter;
}

bool WaitvWorks() {
  static const bool works = [] {
    const std::atomic<uint32_t> word{0};
    struct futex_waitv waiter = Waiter({&word, 1}, FUTEX_PRIVATE_FLAG);
    return syscall(SYS_futex_waitv, &waiter, 1, 0, nullptr, CLOCK_MONOTONIC) == -1 &&
           errno == EAGAIN;
  }();
  return works && UsedKernelFeatures().futex_waitv;
}

void Wake(const std::atomic<uint32_t>& word, int flags, int sleepers) {
  syscall(SYS_futex, &word, FUTEX_WAKE | flags, sleepers, nullptr, nullptr, 0);
}

// Whether a wait ended by a wake-up, or by a word that had changed.
bool Woken(long result) { return result >= 0 || errno == EAGAIN; }

// ---- Without futex_waitv

constexpr long kRepeatNanos = 20'000;
// How long such a sleep lasts at most. A hostile peer can move sleepers to another futex, where
// nobody's wake-up finds them (FUTEX_REQUEUE).
constexpr int64_t kSliceNanos = 20'000'000;

struct Sleeper {
  const std::atomic<uint32_t>* shared;
  FutexWord local;
};

// All of the process's.
struct Sleepers {
  Mutex mutex;
  std::list<Sleeper> list ABSL_GUARDED_BY(mutex);
};

// Leaked on purpose: threads may sleep while the process exits.
Sleepers& AllSleepers() {
  static Sleepers* const sleepers = new Sleepers;
  return *sleepers;
}

bool SleepOnShared(FutexWord shared, FutexWord local, const struct timespec* until) {
  Sleepers& all = AllSleepers();
  std::list<Sleeper>::iterator self;
  {
    MutexLock lock(all.mutex);
    self = all.list.insert(all.list.end(), Sleeper{shared.word, local});
  }
  bool woken = true;
  // Acquire: who sees the new value sees what was changed before it. A change that comes after this
  // look finds the sleeper in the list.
  if (local.word->load(std::memory_order_acquire) == local.expected) {
    woken = Woken(syscall(SYS_futex, shared.word, FUTEX_WAIT_BITSET, shared.expected, until,
                          nullptr, FUTEX_BITSET_MATCH_ANY));
  }
  MutexLock lock(all.mutex);
  all.list.erase(self);
  return woken;
}

// Wakes those who sleep although `word` has changed; false if there are none.
bool WakeSleepersOf(const std::atomic<uint32_t>& word) {
  Sleepers& all = AllSleepers();
  bool found = false;
  MutexLock lock(all.mutex);
  for (const Sleeper& sleeper : all.list) {
    // relaxed: only compared; the caller has changed it.
    if (sleeper.local.word != &word ||
        sleeper.local.expected == word.load(std::memory_order_relaxed)) {
      continue;
    }
    // Everybody, since a hostile peer's own sleepers could be first in the queue.
    Wake(*sleeper.shared, 0, INT_MAX);
    found = true;
  }
  return found;
}

}  // namespace

bool FutexWaitTwo(FutexWord shared, FutexWord local, Deadline deadline) {
  if (!WaitvWorks()) deadline = Earlier(deadline, Deadline::AfterNanos(kSliceNanos));
  struct timespec time = {};
  if (!deadline.infinite()) {
    time.tv_sec = deadline.nanos() / 1000000000;
    time.tv_nsec = deadline.nanos() % 1000000000;
  }
  const struct timespec* const until = deadline.infinite() ? nullptr : &time;
  if (!WaitvWorks()) return SleepOnShared(shared, local, until);
  struct futex_waitv waiters[2] = {Waiter(shared, 0), Waiter(local, FUTEX_PRIVATE_FLAG)};
  return Woken(syscall(SYS_futex_waitv, waiters, 2, 0, until, CLOCK_MONOTONIC));
}

void FutexWakeShared(const std::atomic<uint32_t>& word) { Wake(word, 0, 1); }

void FutexWakeLocal(const std::atomic<uint32_t>& word) {
  Wake(word, FUTEX_PRIVATE_FLAG, INT_MAX);
  if (WaitvWorks()) return;
  while (WakeSleepersOf(word)) {
    const struct timespec pause = {0, kRepeatNanos};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace locket::transport::internal
