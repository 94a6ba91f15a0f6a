#include "locket/transport/internal/spin.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "locket/transport/internal/cpu_quota.h"

namespace locket::transport::internal {
namespace {

// The CPUs that the main thread of a process may run on; none where it cannot be asked (a machine
// of more CPUs than a cpu_set_t holds among others).
cpu_set_t CpusOf(pid_t process) {
  cpu_set_t cpus;
  if (process <= 0 || sched_getaffinity(process, sizeof(cpus), &cpus) != 0) CPU_ZERO(&cpus);
  return cpus;
}

int CountPlaces() {
  const cpu_set_t own = CpusOf(getpid());
  return SpinPlaces(CPU_COUNT(&own), CpuQuota());
}

}  // namespace

int SpinPlaces(int cpus, double quota) {
  const int by_cpus = std::max(1, cpus - 1);
  if (quota >= by_cpus + 1) return by_cpus;
  return std::max(0, static_cast<int>(quota) - 1);
}

SpinGate& SpinGate::OfProcess() {
  static SpinGate* const gate = [] {
    pthread_atfork(nullptr, nullptr, &SpinGate::Forked);
    return new SpinGate(CountPlaces());
  }();
  return *gate;
}

void SpinGate::Forked() { OfProcess().spinning_.store(0, std::memory_order_relaxed); }

bool SpinGate::Enter(int64_t now) {
  if (now < rest_until_.load(std::memory_order_relaxed)) return false;
  if (spinning_.fetch_add(1, std::memory_order_relaxed) < places_) return true;
  Leave();
  return false;
}

void SpinGate::OnGap(int64_t now, int64_t rest) {
  const int64_t last = last_rest_.load(std::memory_order_relaxed);
  const bool again = now - rest_until_.load(std::memory_order_relaxed) < last;
  const int64_t next = again ? std::min(2 * last, rest << kMaxDoublings) : rest;
  last_rest_.store(next, std::memory_order_relaxed);
  rest_until_.store(now + next, std::memory_order_relaxed);
}

int64_t SpinNanosBeside(pid_t peer, int64_t limit_nanos) {
  if (SpinGate::OfProcess().places() == 0) return 0;
  const cpu_set_t own = CpusOf(getpid());
  const cpu_set_t others = CpusOf(peer);
  cpu_set_t all;
  CPU_OR(&all, &own, &others);
  return CPU_COUNT(&all) == 1 ? 0 : limit_nanos;
}

bool Spin::ContinueAt(int64_t now) {
  if (!has_place_) {
    over_ = limit_nanos_ == 0 || !gate_.Enter(now);
    has_place_ = !over_;
    until_ = now + limit_nanos_;
  } else if (now - last_clock_ > options_.gap.count()) {
    gate_.OnGap(now, options_.rest.count());
    over_ = true;
  } else if (now >= until_) {
    tuner_.OnSpun(false);
    over_ = true;
  }
  last_clock_ = now;
  return !over_;
}

}  // namespace locket::transport::internal
