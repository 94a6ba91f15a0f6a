// The points in time that deadlines can be given as.
#ifndef LOCKET_RPC_TIME_POINT_H_
#define LOCKET_RPC_TIME_POINT_H_

#include <chrono>
#include <limits>

#include "locket/transport/deadline.h"

namespace locket {

// Turns a T into a deadline. Specialised for time points of std::chrono::system_clock and
// steady_clock; a program may specialise it for a type of its own, with the same two functions.
//
// A time point of the system clock is taken as the time left until then: later changes of that
// clock do not move the deadline. time_point::max() is no deadline at all.
template <typename T>
class TimePoint {
 public:
  explicit TimePoint(const T&) = delete;
  transport::Deadline deadline() const = delete;
  std::chrono::system_clock::time_point system_time() const = delete;
};

namespace internal {

// Nanoseconds, without overflow: what lies beyond the range is its end.
template <typename Rep, typename Period>
int64_t SaturatedNanos(std::chrono::duration<Rep, Period> duration) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  // Half the range, so that the difference of two cannot overflow either.
  constexpr nanoseconds kFar(std::numeric_limits<int64_t>::max() / 2);
  const auto far = std::chrono::duration<double>(kFar);
  const auto approximate = std::chrono::duration<double>(duration);
  if (approximate >= far) return kFar.count();
  if (approximate <= -far) return -kFar.count();
  return duration_cast<nanoseconds>(duration).count();
}

// A time on the system clock, without overflow: what lies beyond the range is its end.
template <typename Duration>
std::chrono::system_clock::time_point SaturatedTime(
    std::chrono::time_point<std::chrono::system_clock, Duration> time) {
  using std::chrono::system_clock;
  using Seconds = std::chrono::duration<double>;
  // A second less than the range: a double does not tell its end from what lies behind.
  constexpr double kEnd = Seconds(system_clock::duration::max()).count() - 1;
  const double approximate = Seconds(time.time_since_epoch()).count();
  if (approximate >= kEnd) return system_clock::time_point::max();
  if (approximate <= -kEnd) return system_clock::time_point::min();
  return std::chrono::time_point_cast<system_clock::duration>(time);
}

// When `deadline` will be on the system clock, as it runs now; max() if it is infinite.
inline std::chrono::system_clock::time_point SystemTime(transport::Deadline deadline) {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  using std::chrono::system_clock;
  if (deadline.infinite()) return system_clock::time_point::max();
  const nanoseconds left(deadline.nanos() - transport::MonotonicNanos());
  const system_clock::time_point now = system_clock::now();
  if (left >= duration_cast<nanoseconds>(system_clock::time_point::max() - now)) {
    return system_clock::time_point::max();
  }
  return now + duration_cast<system_clock::duration>(left);
}

}  // namespace internal

template <typename Duration>
class TimePoint<std::chrono::time_point<std::chrono::system_clock, Duration>> {
 public:
  using Time = std::chrono::time_point<std::chrono::system_clock, Duration>;
  explicit TimePoint(const Time& time) : time_(time) {}

  transport::Deadline deadline() const {
    if (time_ == Time::max()) return transport::Deadline::Infinite();
    // Doubles would lose microseconds in a time since 1970, not in the difference from now.
    const int64_t since_epoch = internal::SaturatedNanos(time_.time_since_epoch());
    const int64_t now =
        internal::SaturatedNanos(std::chrono::system_clock::now().time_since_epoch());
    return transport::Deadline::AtNanos(transport::MonotonicNanos() + (since_epoch - now));
  }
  std::chrono::system_clock::time_point system_time() const {
    if (time_ == Time::max()) return std::chrono::system_clock::time_point::max();
    return internal::SaturatedTime(time_);
  }

 private:
  Time time_;
};

template <typename Duration>
class TimePoint<std::chrono::time_point<std::chrono::steady_clock, Duration>> {
 public:
  using Time = std::chrono::time_point<std::chrono::steady_clock, Duration>;
  explicit TimePoint(const Time& time) : time_(time) {}

  // libstdc++'s steady_clock is CLOCK_MONOTONIC.
  transport::Deadline deadline() const {
    if (time_ == Time::max()) return transport::Deadline::Infinite();
    return transport::Deadline::AtNanos(internal::SaturatedNanos(time_.time_since_epoch()));
  }
  std::chrono::system_clock::time_point system_time() const {
    return internal::SystemTime(deadline());
  }

 private:
  Time time_;
};

}  // namespace locket

#endif  // LOCKET_RPC_TIME_POINT_H_
