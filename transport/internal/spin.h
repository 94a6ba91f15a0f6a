// How long a wait spins before it sleeps, and how many threads of the process may.
#ifndef LOCKET_TRANSPORT_INTERNAL_SPIN_H_
#define LOCKET_TRANSPORT_INTERNAL_SPIN_H_

#include <sys/types.h>

#include <cstdint>

#include "locket/transport/deadline.h"

namespace locket::transport::internal {

inline void CpuPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// `limit_nanos`, or 0 where this process and the peer may run on one and the same CPU only: there
// the peer cannot answer while this thread spins. Asks for the affinity of both processes' main
// threads; a peer that cannot be asked (another PID namespace) counts as running where this process
// does.
int64_t SpinNanosBeside(pid_t peer, int64_t limit_nanos);

// One spinning wait. At most (CPUs this process may run on) - 1 of its threads, but one at least,
// spin at a time: the others need CPUs to answer on. The first kRounds, about a microsecond, are
// free for all: an answer that comes within them costs no shared counter.
//
//   for (Spin spin(limit_nanos); spin.Continue();) if (ready()) return;
class Spin {
 public:
  explicit Spin(int64_t limit_nanos) : limit_nanos_(limit_nanos) {}
  ~Spin() {
    if (has_place_) GiveBackPlace();
  }
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

  // Pauses; false once the time is used up or other threads have the places, and from the start
  // where the limit is 0. The clock is read every kRounds calls.
  bool Continue() {
    if (++round_ % kRounds == 0) return ClockAllows();
    CpuPause();
    return limit_nanos_ > 0;
  }

  // True in the call of the loop's body that follows a reading of the clock: time for what need not
  // be looked at in every round.
  bool at_clock() const { return round_ != 0 && round_ % kRounds == 0; }

 private:
  static constexpr uint32_t kRounds = 64;

  bool ClockAllows();
  void GiveBackPlace();

  const int64_t limit_nanos_;
  bool has_place_ = false;
  uint32_t round_ = 0;
  int64_t until_ = 0;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_SPIN_H_
