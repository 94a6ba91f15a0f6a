// How calls are timed, the same for every system.
#ifndef LOCKET_BENCH_MEASURE_H_
#define LOCKET_BENCH_MEASURE_H_

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/pair.pb.h"

namespace locket::bench {

inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// What is told of a distribution beside p50 and p99.
inline constexpr double kPercentiles[] = {0, 1, 10, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999};

inline double PerSecond(int64_t calls, int64_t elapsed_ns) {
  return static_cast<double>(calls) * 1e9 /
         static_cast<double>(std::max<int64_t>(elapsed_ns, int64_t{1}));
}

// Sorts the samples.
inline Measurement Summarize(std::vector<uint32_t>& samples_ns, int64_t elapsed_ns) {
  std::sort(samples_ns.begin(), samples_ns.end());
  const auto percentile = [&samples_ns](double percent) {
    return samples_ns[static_cast<size_t>(static_cast<double>(samples_ns.size() - 1) * percent /
                                          100)] /
           1e3;
  };
  Measurement result;
  result.set_calls(static_cast<int64_t>(samples_ns.size()));
  result.set_p50_us(percentile(50));
  result.set_p99_us(percentile(99));
  result.set_per_second(PerSecond(result.calls(), elapsed_ns));
  for (const double percent : kPercentiles) {
    Percentile* const added = result.add_percentiles();
    added->set_percent(percent);
    added->set_us(percentile(percent));
  }
  return result;
}

// What is known of calls that were not timed one by one: the mean.
inline Measurement SummarizeMean(int64_t calls, int64_t elapsed_ns) {
  Measurement result;
  result.set_calls(calls);
  result.set_per_second(PerSecond(calls, elapsed_ns));
  result.set_p50_us(1e6 / result.per_second());
  result.set_p99_us(result.p50_us());
  return result;
}

// A line a sample, for gnuplot: plot "FILE" with dots.
inline absl::Status Dump(const std::vector<uint32_t>& samples_ns, const std::string& path) {
  std::ofstream file(path, std::ios::trunc);
  for (const uint32_t sample : samples_ns) file << sample / 1e3 << '\n';
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("writing ", path));
  return absl::OkStatus();
}

inline void Pause(int64_t until_ns) {
  while (NowNs() < until_ns) {
  }
}

// Times calls back to back, or with pauses. Without them the clock is read once per call, so a
// sample is the call, one reading of the clock (some 25 ns) and one store. `call` returns
// absl::Status.
template <class Call>
absl::StatusOr<Measurement> MeasureCalls(const Plan& plan, Call call) {
  const int64_t warm = NowNs() + plan.warmup_ns();
  do {
    if (absl::Status status = call(); !status.ok()) return status;
  } while (NowNs() < warm);

  if (plan.no_statistics()) {
    const int64_t started = NowNs();
    int64_t done = 0;
    int64_t now = started;
    do {
      for (int i = 0; i < 256 && done < plan.calls(); ++i, ++done) {
        if (absl::Status status = call(); !status.ok()) return status;
      }
      now = NowNs();
    } while (done < plan.calls() && now - started < plan.max_ns());
    return SummarizeMean(done, now - started);
  }

  // Written once here, so that its page faults are not in the samples.
  std::vector<uint32_t> samples_ns(static_cast<size_t>(std::max<int64_t>(plan.calls(), 1)), 1);
  const int64_t pause_ns = plan.pause_ns();
  const int64_t started = NowNs();
  int64_t last = started;
  size_t done = 0;
  while (done < samples_ns.size() && last - started < plan.max_ns()) {
    if (pause_ns > 0) {
      Pause(last + pause_ns);
      last = NowNs();
    }
    if (absl::Status status = call(); !status.ok()) return status;
    const int64_t now = NowNs();
    samples_ns[done++] =
        static_cast<uint32_t>(std::min<int64_t>(now - last, std::numeric_limits<uint32_t>::max()));
    last = now;
  }
  if (done == 0) return absl::InvalidArgumentError("a plan without calls");
  samples_ns.resize(done);
  if (!plan.dump_path().empty()) {
    if (absl::Status dumped = Dump(samples_ns, plan.dump_path()); !dumped.ok()) return dumped;
  }
  return Summarize(samples_ns, last - started);
}

// Times a one-way stream, for as long as the plan says: `send(last)` sends one message, `confirm()`
// waits until the server has read the last one and said so.
template <class Send, class Confirm>
absl::StatusOr<Measurement> MeasureStream(const Plan& plan, Send send, Confirm confirm) {
  const auto run = [&](int64_t nanos) -> absl::StatusOr<Measurement> {
    const int64_t started = NowNs();
    int64_t sent = 0;
    do {
      for (int i = 0; i < 64; ++i, ++sent) {
        if (absl::Status status = send(/*last=*/false); !status.ok()) return status;
      }
    } while (NowNs() - started < nanos);
    if (absl::Status status = send(/*last=*/true); !status.ok()) return status;
    if (absl::Status status = confirm(); !status.ok()) return status;
    return SummarizeMean(sent + 1, NowNs() - started);
  };
  if (absl::StatusOr<Measurement> warm = run(plan.warmup_ns()); !warm.ok()) return warm.status();
  return run(plan.max_ns());
}

}  // namespace locket::bench

#endif  // LOCKET_BENCH_MEASURE_H_
