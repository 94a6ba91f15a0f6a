// A point in time until which somebody is willing to wait.
#ifndef LOCKET_TRANSPORT_DEADLINE_H_
#define LOCKET_TRANSPORT_DEADLINE_H_

#include <time.h>

#include <chrono>
#include <cstdint>
#include <limits>

namespace locket::transport {

// CLOCK_MONOTONIC in nanoseconds: what every deadline here is measured on.
inline int64_t MonotonicNanos() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

// An absolute time on CLOCK_MONOTONIC, or never. A value type.
class Deadline {
 public:
  static constexpr Deadline Infinite() { return Deadline(std::numeric_limits<int64_t>::max()); }
  static constexpr Deadline AtNanos(int64_t monotonic_nanos) { return Deadline(monotonic_nanos); }

  // `nanos` from now; never, where that lies beyond the clock's range.
  static Deadline AfterNanos(int64_t nanos) {
    const int64_t now = MonotonicNanos();
    if (nanos > std::numeric_limits<int64_t>::max() - now) return Infinite();
    return Deadline(now + nanos);
  }
  template <typename Rep, typename Period>
  static Deadline After(std::chrono::duration<Rep, Period> duration) {
    // duration_cast overflows for what is beyond 292 years.
    if (std::chrono::duration<double>(duration).count() > 9e9) return Infinite();
    return AfterNanos(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  }

  constexpr bool infinite() const { return nanos_ == std::numeric_limits<int64_t>::max(); }
  constexpr int64_t nanos() const { return nanos_; }
  bool passed() const { return !infinite() && MonotonicNanos() >= nanos_; }

  // Nanoseconds left, at least 0; the greatest int64_t if infinite.
  int64_t nanos_left() const {
    if (infinite()) return nanos_;
    const int64_t left = nanos_ - MonotonicNanos();
    return left > 0 ? left : 0;
  }

  // For the standard library's timed waits: libstdc++'s steady_clock is CLOCK_MONOTONIC.
  std::chrono::steady_clock::time_point steady_time() const {
    return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(nanos_));
  }

  friend constexpr Deadline Earlier(Deadline a, Deadline b) { return a.nanos_ < b.nanos_ ? a : b; }

 private:
  explicit constexpr Deadline(int64_t nanos) : nanos_(nanos) {}

  int64_t nanos_;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_DEADLINE_H_
