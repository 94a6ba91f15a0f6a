#include "locket/transport/internal/spin.h"

#include <sched.h>

#include <atomic>

namespace locket::transport::internal {
namespace {

// Threads that spin now. Any thread writes.
std::atomic<int> spinning{0};

int CountCpus() {
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return 1;
  return CPU_COUNT(&cpus);
}

bool TakePlace(int64_t limit_nanos) {
  if (limit_nanos <= 0) return false;
  static const int places = CountCpus() - 1;
  // relaxed: a count that orders nothing.
  if (spinning.fetch_add(1, std::memory_order_relaxed) < places) return true;
  spinning.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

}  // namespace

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

void Spin::Restart() { until_ = 0; }

}  // namespace locket::transport::internal
