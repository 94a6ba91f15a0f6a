#include "locket/rpc/time_point.h"

#include <chrono>
#include <ratio>

#include "gtest/gtest.h"

namespace locket {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;
using transport::Deadline;

template <typename T>
Deadline DeadlineOf(const T& time) {
  return TimePoint<T>(time).deadline();
}

TEST(TimePointTest, SystemClockBecomesTimeLeft) {
  const Deadline deadline = DeadlineOf(system_clock::now() + std::chrono::seconds(60));
  EXPECT_NEAR(deadline.nanos_left(), 60e9, 1e9);
}

TEST(TimePointTest, SteadyClockIsTakenAsItIs) {
  const steady_clock::time_point time = steady_clock::now() + std::chrono::seconds(60);
  EXPECT_EQ(DeadlineOf(time).nanos(), time.time_since_epoch().count());
}

TEST(TimePointTest, MaxIsNoDeadline) {
  EXPECT_TRUE(DeadlineOf(system_clock::time_point::max()).infinite());
  EXPECT_TRUE(DeadlineOf(steady_clock::time_point::max()).infinite());
}

TEST(TimePointTest, ThePastHasPassed) {
  EXPECT_TRUE(DeadlineOf(system_clock::now() - std::chrono::milliseconds(1)).passed());
  EXPECT_TRUE(DeadlineOf(steady_clock::now() - std::chrono::hours(1000000)).passed());
  EXPECT_TRUE(DeadlineOf(system_clock::time_point::min()).passed());
}

TEST(TimePointTest, TheFarFutureDoesNotOverflow) {
  using Hours = std::chrono::time_point<system_clock, std::chrono::hours>;
  EXPECT_FALSE(DeadlineOf(Hours(std::chrono::hours(1) * 1000000000)).passed());
  EXPECT_FALSE(DeadlineOf(system_clock::now() + std::chrono::hours(24 * 365 * 80)).passed());
}

TEST(TimePointTest, ASystemTimeBeyondTheRangeIsItsEnd) {
  using Hours = std::chrono::time_point<system_clock, std::chrono::hours>;
  using Years = std::chrono::duration<double, std::ratio<31556952>>;
  using Fractions = std::chrono::time_point<system_clock, Years>;
  const auto system_time = [](auto time) { return TimePoint<decltype(time)>(time).system_time(); };
  EXPECT_EQ(system_time(Hours(std::chrono::hours(1) * 1000000000)),
            system_clock::time_point::max());
  EXPECT_EQ(system_time(Hours(std::chrono::hours(-1) * 1000000000)),
            system_clock::time_point::min());
  EXPECT_EQ(system_time(Fractions(Years(300))), system_clock::time_point::max());
  const auto in_2200 = Hours(std::chrono::hours(24 * 365 * 230));
  EXPECT_EQ(system_time(in_2200), in_2200);
}

// Any peer may send such a timeout.
TEST(TimePointTest, ADeadlineBeyondTheSystemClockIsNone) {
  EXPECT_EQ(internal::SystemTime(Deadline::AtNanos(INT64_MAX - 1)),
            system_clock::time_point::max());
  EXPECT_EQ(internal::SystemTime(Deadline::AtNanos(INT64_MAX / 10 * 9)),
            system_clock::time_point::max());
  EXPECT_LT(internal::SystemTime(Deadline::AfterNanos(INT64_MAX / 2)),
            system_clock::time_point::max());
}

TEST(TimePointTest, CoarseClocksAreFine) {
  const auto now = std::chrono::time_point_cast<std::chrono::seconds>(system_clock::now());
  EXPECT_NEAR(DeadlineOf(now + std::chrono::seconds(60)).nanos_left(), 60e9, 2e9);
}

}  // namespace
}  // namespace locket
