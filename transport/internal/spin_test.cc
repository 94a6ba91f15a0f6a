// Times are given, not measured.
#include "locket/transport/internal/spin.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

namespace locket::transport::internal {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();
constexpr int64_t kMicro = 1000;
constexpr int64_t kMilli = 1000 * kMicro;
constexpr int64_t kLimit = 50 * kMicro;
constexpr int64_t kStart = 1000 * kMilli;

TEST(SpinPlacesTest, LeaveACpuToTheOthers) {
  EXPECT_EQ(SpinPlaces(8, kNoQuota), 7);
  EXPECT_EQ(SpinPlaces(2, kNoQuota), 1);
  // Pinned to a CPU: its peer may have another one.
  EXPECT_EQ(SpinPlaces(1, kNoQuota), 1);
}

TEST(SpinPlacesTest, LeaveAQuotaToTheOthers) {
  EXPECT_EQ(SpinPlaces(8, 8), 7);
  EXPECT_EQ(SpinPlaces(8, 4), 3);
  EXPECT_EQ(SpinPlaces(8, 2.9), 1);
  EXPECT_EQ(SpinPlaces(8, 1.9), 0);
  EXPECT_EQ(SpinPlaces(8, 0.1), 0);
  EXPECT_EQ(SpinPlaces(1, 1.5), 0);
  EXPECT_EQ(SpinPlaces(1, 2), 1);
}

TEST(SpinNanosTest, AreNoneBesideAPeerOnTheSameOnlyCpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(SpinNanosBeside(getpid(), kLimit), 0);
  EXPECT_EQ(SpinNanosBeside(0, kLimit), 0);  // One that cannot be asked.
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(SpinGateTest, HasAsManyPlacesAsItSays) {
  SpinGate gate(2);
  EXPECT_TRUE(gate.Enter(kStart));
  EXPECT_TRUE(gate.Enter(kStart));
  EXPECT_FALSE(gate.Enter(kStart));
  gate.Leave();
  EXPECT_TRUE(gate.Enter(kStart));
  SpinGate none(0);
  EXPECT_FALSE(none.Enter(kStart));
}

TEST(SpinGateTest, RestsAfterAGapAndLongerWhenItHappensAgain) {
  SpinGate gate(1);
  int64_t now = kStart;
  const auto rest_after_gap = [&] {
    gate.OnGap(now, kMilli);
    int64_t rest = 0;
    while (!gate.Enter(now + rest)) rest += kMilli;
    gate.Leave();
    now += rest;
    return rest / kMilli;
  };
  // Each time right after the rest's end.
  for (const int64_t expected : {1, 2, 4, 8}) EXPECT_EQ(rest_after_gap(), expected);
  for (int i = 0; i < 20; ++i) rest_after_gap();
  EXPECT_EQ(rest_after_gap(), 1 << SpinGate::kMaxDoublings);
  // After a good while: from the start.
  now += 10'000 * kMilli;
  EXPECT_EQ(rest_after_gap(), 1);
}

TEST(SpinTunerTest, GivesUpAfterWaitsThatSpinInVain) {
  const SpinOptions options;
  SpinTuner tuner;
  for (uint32_t i = 0; i < options.give_up_after; ++i) {
    EXPECT_EQ(tuner.NextLimit(options, kLimit), kLimit);
    tuner.OnSpun(false);
  }
  EXPECT_EQ(tuner.NextLimit(options, kLimit), 0);
}

TEST(SpinTunerTest, OneWaitThatFindsMakesUpForThoseInVain) {
  const SpinOptions options;
  SpinTuner tuner;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(tuner.NextLimit(options, kLimit), kLimit);
    tuner.OnSpun(i % 4 == 3);
  }
}

TEST(SpinTunerTest, ProbesNowAndThenAndBeginsAgainWhenAProbeFinds) {
  SpinOptions options;
  options.probe_every = 10;
  SpinTuner tuner;
  for (uint32_t i = 0; i < options.give_up_after; ++i) tuner.OnSpun(false);
  int probes = 0;
  for (int i = 0; i < 100; ++i) {
    if (tuner.NextLimit(options, kLimit) == 0) continue;
    ++probes;
    tuner.OnSpun(false);
  }
  EXPECT_EQ(probes, 10);
  tuner.OnSpun(true);
  EXPECT_EQ(tuner.NextLimit(options, kLimit), kLimit);
}

TEST(SpinTunerTest, BeginsAgainWhenASleepWasShorterThanTheLimit) {
  const SpinOptions options;
  SpinTuner tuner;
  for (uint32_t i = 0; i < options.give_up_after; ++i) tuner.OnSpun(false);
  tuner.OnSlept(kLimit + 1, kLimit);
  EXPECT_EQ(tuner.NextLimit(options, kLimit), 0);
  tuner.OnSlept(kLimit - 1, kLimit);
  EXPECT_EQ(tuner.NextLimit(options, kLimit), kLimit);
}

TEST(SpinTest, EndsAtItsLimitAndGivesItsPlaceBack) {
  const SpinOptions options;
  SpinGate gate(1);
  SpinTuner tuner;
  for (uint32_t i = 0; i < options.give_up_after; ++i) {
    Spin spin(tuner, options, kLimit, gate);
    for (int64_t at = 0; at < kLimit; at += 10 * kMicro) {
      EXPECT_TRUE(spin.ContinueAt(kStart + at));
    }
    EXPECT_FALSE(gate.Enter(kStart));
    EXPECT_FALSE(spin.ContinueAt(kStart + kLimit));
    spin.BeforeSleep();
    EXPECT_TRUE(gate.Enter(kStart));
    gate.Leave();
    spin.Found();
  }
  EXPECT_EQ(tuner.NextLimit(options, kLimit), 0);  // Each was in vain.
}

TEST(SpinTest, DoesNotSpinWhereItIsNotToAndRemembersHowLongItSlept) {
  const SpinOptions options;
  SpinGate gate(1);
  SpinTuner tuner;
  for (uint32_t i = 0; i < options.give_up_after; ++i) tuner.OnSpun(false);
  Spin spin(tuner, options, kLimit, gate);
  EXPECT_FALSE(spin.Continue());
  spin.BeforeSleepAt(kStart);
  spin.FoundAt(kStart + 10 * kMicro);
  EXPECT_EQ(tuner.NextLimit(options, kLimit), kLimit);
}

TEST(SpinTest, WithALimitOfZeroNeverSpinsAndReadsNoClock) {
  SpinGate gate(1);
  SpinTuner tuner;
  Spin spin(tuner, SpinOptions(), 0, gate);
  EXPECT_FALSE(spin.Continue());
  spin.BeforeSleep();
  spin.Found();
}

TEST(SpinTest, EndsWhereThereIsNoPlaceAndThatIsNotInVain) {
  const SpinOptions options;
  SpinGate gate(1);
  ASSERT_TRUE(gate.Enter(kStart));
  SpinTuner tuner;
  for (int i = 0; i < 100; ++i) {
    Spin spin(tuner, options, kLimit, gate);
    EXPECT_FALSE(spin.ContinueAt(kStart));
  }
  EXPECT_EQ(tuner.NextLimit(options, kLimit), kLimit);
}

TEST(SpinTest, AGapInTheClockStopsTheSpinningOfTheWholeProcess) {
  const SpinOptions options;
  SpinGate gate(4);
  SpinTuner tuner;
  Spin spin(tuner, options, kLimit, gate);
  EXPECT_TRUE(spin.ContinueAt(kStart));
  EXPECT_FALSE(spin.ContinueAt(kStart + kLimit + 1));
  EXPECT_FALSE(gate.Enter(kStart + kLimit + 2));
  EXPECT_TRUE(gate.Enter(kStart + kLimit + 2 + options.rest.count()));
  gate.Leave();
}

}  // namespace
}  // namespace locket::transport::internal
