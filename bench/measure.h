// How calls are timed, the same for every system.
#ifndef LOCKET_BENCH_MEASURE_H_
#define LOCKET_BENCH_MEASURE_H_

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/pair.pb.h"

namespace locket::bench {

inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// Sorts the samples.
inline Measurement Summarize(std::vector<uint32_t>& samples_ns, int64_t elapsed_ns) {
  std::sort(samples_ns.begin(), samples_ns.end());
  const auto percentile = [&samples_ns](size_t percent) {
    return samples_ns[(samples_ns.size() - 1) * percent / 100] / 1e3;
  };
  Measurement result;
  result.set_calls(static_cast<int64_t>(samples_ns.size()));
  result.set_p50_us(percentile(50));
  result.set_p99_us(percentile(99));
  result.set_per_second(static_cast<double>(samples_ns.size()) * 1e9 /
                        static_cast<double>(std::max<int64_t>(elapsed_ns, 1)));
  return result;
}

// Times calls back to back. The clock is read once per call, so a sample is the call, one reading
// of the clock (some 25 ns) and one store. `call` returns absl::Status.
template <class Call>
absl::StatusOr<Measurement> MeasureCalls(const Plan& plan, Call call) {
  const int64_t warm = NowNs() + plan.warmup_ns();
  do {
    if (absl::Status status = call(); !status.ok()) return status;
  } while (NowNs() < warm);

  // Written once here, so that its page faults are not in the samples.
  std::vector<uint32_t> samples_ns(static_cast<size_t>(std::max<int64_t>(plan.calls(), 1)), 1);
  const int64_t started = NowNs();
  int64_t last = started;
  size_t done = 0;
  while (done < samples_ns.size() && last - started < plan.max_ns()) {
    if (absl::Status status = call(); !status.ok()) return status;
    const int64_t now = NowNs();
    samples_ns[done++] =
        static_cast<uint32_t>(std::min<int64_t>(now - last, std::numeric_limits<uint32_t>::max()));
    last = now;
  }
  if (done == 0) return absl::InvalidArgumentError("a plan without calls");
  samples_ns.resize(done);
  return Summarize(samples_ns, last - started);
}

}  // namespace locket::bench

#endif  // LOCKET_BENCH_MEASURE_H_
