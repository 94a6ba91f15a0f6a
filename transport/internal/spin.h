// Whether a wait spins before it sleeps, how long, and how many threads of the process may.
//
// Spinning saves the kernel's 5 to 50 us where the answer comes at once, and is otherwise taken
// from somebody who could use the CPU. Three things decide, each with its own class:
//
//   SpinTuner   one per place where one thread waits: do answers come within the limit, lately?
//   SpinGate    one per process: are there CPUs to spare?
//   Spin        one per wait.
#ifndef LOCKET_TRANSPORT_INTERNAL_SPIN_H_
#define LOCKET_TRANSPORT_INTERNAL_SPIN_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "locket/transport/deadline.h"
#include "locket/transport/endpoint.h"

namespace locket::transport::internal {

inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Threads that may spin at a time, in a process that may run on `cpus` and has a quota of `quota`
// CPUs (infinity: none): one fewer than it can run at once, as the others need CPUs to answer on.
// With one CPU of its own and no quota it is one: the peer runs elsewhere, or SpinNanosBeside()
// says 0. Where spinning would eat a quota that others need, it is 0.
int SpinPlaces(int cpus, double quota);

// Counts the threads of a process that spin, and lets them rest where other threads want the CPUs.
//
// Thread safety: any thread. All atomics are hints that order nothing, and relaxed.
class SpinGate {
 public:
  explicit SpinGate(int places) : places_(places) {}

  // This process's own. Its affinity and quota are read once.
  static SpinGate& OfProcess();

  int places() const { return places_; }

  // A place to spin from `now` on; false if all are taken, or the process rests.
  bool Enter(int64_t now);
  void Leave() { spinning_.fetch_sub(1, std::memory_order_relaxed); }

  // A spinning thread was off its CPU until `now`: somebody else wants it. Nobody spins for `rest`
  // nanoseconds; for twice as long each time that it happens within the last rest's length of its
  // end, up to kMaxDoublings times.
  void OnGap(int64_t now, int64_t rest);

  static constexpr int kMaxDoublings = 10;

 private:
  // In a forked child, which has none of the threads that were spinning.
  static void Forked();

  const int places_;
  std::atomic<int> spinning_{0};
  std::atomic<int64_t> rest_until_{0};
  std::atomic<int64_t> last_rest_{0};
};

// `limit_nanos`, or 0 where spinning has no place: no thread of this process may spin, or it and
// the peer may run on one and the same CPU only, where the peer cannot answer while this thread
// spins. Asks for the affinity of both processes' main threads; a peer that cannot be asked
// (another PID namespace) counts as running where this process does.
int64_t SpinNanosBeside(pid_t peer, int64_t limit_nanos);

// Remembers whether waits of one kind ended within the spin limit.
//
// Thread safety: used by one thread at a time.
class SpinTuner {
 public:
  // How long the next wait spins: `limit_nanos`, or 0 while spinning does not pay.
  int64_t NextLimit(const SpinOptions& options, int64_t limit_nanos) {
    if (misses_ < options.give_up_after) return limit_nanos;
    if (++asked_ % options.probe_every != 0) return 0;
    return limit_nanos;
  }

  // How the wait went that got it: what it waited for came while it spun, or did not.
  void OnSpun(bool found) {
    if (found) {
      misses_ = 0;
    } else if (misses_ < kMany) {
      ++misses_;
    }
  }

  // A wait that was told not to spin slept so long: it shows, too, whether spinning would pay.
  void OnSlept(int64_t nanos, int64_t limit_nanos) {
    if (nanos < limit_nanos) misses_ = 0;
  }

 private:
  static constexpr uint32_t kMany = 1u << 30;

  uint32_t misses_ = 0;  // In a row.
  uint32_t asked_ = 0;   // Waits that were not to spin, but for every probe_every-th.
};

// One wait, which spins first if its tuner and the gate let it. The first kRounds, about a
// microsecond, are free for all: an answer that comes within them costs no clock and no shared
// counter.
//
//   Spin spin(tuner, options, limit_nanos);
//   do {
//     if (ready()) return spin.Found();
//   } while (spin.Continue());
//   spin.BeforeSleep();
//   while (!ready()) sleep();
//   spin.Found();
class Spin {
 public:
  // `limit_nanos` is options.limit, as SpinNanosBeside() leaves it.
  Spin(SpinTuner& tuner, const SpinOptions& options, int64_t limit_nanos,
       SpinGate& gate = SpinGate::OfProcess())
      : tuner_(tuner),
        options_(options),
        gate_(gate),
        possible_nanos_(limit_nanos),
        limit_nanos_(tuner.NextLimit(options, limit_nanos)) {}
  ~Spin() { LeaveGate(); }
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

  // Pauses; false once the time is used up, or there is no place, or others want the CPU, and from
  // the start where the limit is 0. The clock is read every kRounds calls.
  bool Continue() {
    if (++round_ % kRounds == 0) return ContinueAt(MonotonicNanos());
    CpuPause();
    return limit_nanos_ > 0;
  }

  // True in the call of the loop's body that follows a reading of the clock: time for what need not
  // be looked at in every round.
  bool at_clock() const { return round_ != 0 && round_ % kRounds == 0; }

  // What the wait is for is there.
  void Found() {
    if (slept_from_ != 0) {
      FoundAt(MonotonicNanos());
    } else if (round_ > 0 && !over_) {
      tuner_.OnSpun(true);
    }
  }

  // The spinning is over.
  void BeforeSleep() {
    if (limit_nanos_ == 0 && possible_nanos_ > 0) BeforeSleepAt(MonotonicNanos());
    LeaveGate();
  }

  // The same as above where the clock says `now`; apart for tests.
  bool ContinueAt(int64_t now);
  void BeforeSleepAt(int64_t now) { slept_from_ = now; }
  void FoundAt(int64_t now) { tuner_.OnSlept(now - slept_from_, possible_nanos_); }

 private:
  static constexpr uint32_t kRounds = 64;

  void LeaveGate() {
    if (has_place_) gate_.Leave();
    has_place_ = false;
  }

  SpinTuner& tuner_;
  const SpinOptions& options_;
  SpinGate& gate_;
  const int64_t possible_nanos_;
  const int64_t limit_nanos_;
  bool has_place_ = false;
  bool over_ = false;
  uint32_t round_ = 0;
  int64_t until_ = 0;
  int64_t last_clock_ = 0;
  int64_t slept_from_ = 0;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_SPIN_H_
