#include "locket/transport/internal/spin.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace locket::transport::internal {
namespace {

// Threads that spin now. Any thread writes.
std::atomic<int> spinning{0};

// The CPUs that the main thread of a process may run on; none where it cannot be asked (a machine
// of more CPUs than a cpu_set_t holds among others).
cpu_set_t CpusOf(pid_t process) {
  cpu_set_t cpus;
  if (process <= 0 || sched_getaffinity(process, sizeof(cpus), &cpus) != 0) CPU_ZERO(&cpus);
  return cpus;
}

int CountPlaces() {
  const cpu_set_t own = CpusOf(getpid());
  return std::max(1, CPU_COUNT(&own) - 1);
}

bool TakePlace() {
  static const int places = CountPlaces();
  // relaxed: a count that orders nothing.
  if (spinning.fetch_add(1, std::memory_order_relaxed) < places) return true;
  spinning.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

}  // namespace

int64_t SpinNanosBeside(pid_t peer, int64_t limit_nanos) {
  const cpu_set_t own = CpusOf(getpid());
  const cpu_set_t others = CpusOf(peer);
  cpu_set_t all;
  CPU_OR(&all, &own, &others);
  return CPU_COUNT(&all) == 1 ? 0 : limit_nanos;
}

bool Spin::ClockAllows() {
  const int64_t now = MonotonicNanos();
  if (!has_place_) {
    has_place_ = limit_nanos_ > 0 && TakePlace();
    until_ = now + limit_nanos_;
  }
  return has_place_ && now < until_;
}

// relaxed: a count that orders nothing.
void Spin::GiveBackPlace() { spinning.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace locket::transport::internal
