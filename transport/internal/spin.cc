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

bool TakePlace(int64_t limit_nanos) {
  if (limit_nanos <= 0) return false;
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

Spin::Spin(int64_t limit_nanos) : limit_nanos_(limit_nanos), has_place_(TakePlace(limit_nanos)) {}

Spin::~Spin() {
  if (has_place_) spinning.fetch_sub(1, std::memory_order_relaxed);
}

bool Spin::ClockAllows() {
  if (!has_place_) return false;
  const int64_t now = MonotonicNanos();
  if (until_ == 0) until_ = now + limit_nanos_;
  return now < until_;
}

}  // namespace locket::transport::internal
