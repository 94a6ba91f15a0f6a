#include "locket/transport/internal/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace locket::transport::internal {
namespace {

struct futex_waitv Waiter(FutexWord word, uint32_t flags) {
  struct futex_waitv waiter = {};
  waiter.val = word.expected;
  waiter.uaddr = reinterpret_cast<uintptr_t>(word.word);
  waiter.flags = FUTEX_32 | flags;
  return waiter;
}

void Wake(const std::atomic<uint32_t>& word, int flags, int sleepers) {
  syscall(SYS_futex, &word, FUTEX_WAKE | flags, sleepers, nullptr, nullptr, 0);
}

}  // namespace

bool FutexWaitTwo(FutexWord shared, FutexWord local, Deadline deadline) {
  struct futex_waitv waiters[2] = {Waiter(shared, 0), Waiter(local, FUTEX_PRIVATE_FLAG)};
  struct timespec until = {};
  if (!deadline.infinite()) {
    until.tv_sec = deadline.nanos() / 1000000000;
    until.tv_nsec = deadline.nanos() % 1000000000;
  }
  return syscall(SYS_futex_waitv, waiters, 2, 0, deadline.infinite() ? nullptr : &until,
                 CLOCK_MONOTONIC) >= 0 ||
         errno == EAGAIN;
}

void FutexWakeShared(const std::atomic<uint32_t>& word) { Wake(word, 0, 1); }
void FutexWakeLocal(const std::atomic<uint32_t>& word) { Wake(word, FUTEX_PRIVATE_FLAG, INT_MAX); }

bool FutexWaitTwoWorks() {
  const std::atomic<uint32_t> word{0};
  struct futex_waitv waiter = Waiter({&word, 1}, FUTEX_PRIVATE_FLAG);
  return syscall(SYS_futex_waitv, &waiter, 1, 0, nullptr, CLOCK_MONOTONIC) == -1 && errno == EAGAIN;
}

}  // namespace locket::transport::internal
