// What every benchmark does with its figures: the table for people and the JSON of results.proto.
#ifndef LOCKET_BENCH_RESULTS_H_
#define LOCKET_BENCH_RESULTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "bench/pair.pb.h"
#include "bench/results.pb.h"

namespace locket::bench {

// This machine, this build, this command line. `arguments` are main()'s.
Machine DescribeMachine(absl::Span<char* const> arguments);

// The result of one system in one benchmark: medians over its rounds, of which there is one at
// least.
Result Summarize(const std::string& system, const std::string& name,
                 absl::Span<const Measurement> rounds);

double Median(std::vector<double> values);  // NaN of nothing

// How many times slower `result` is than `reference`: the median of the ratios round by round. NaN
// if they have no rounds in common.
double TimesSlower(const Result& result, const Result& reference);

// The table, with ratios to the systems named "floor" and "grpc-unix" where they are in the report.
std::string Table(const Report& report);

// The distributions of what was timed call by call; "" where nothing was.
std::string PercentileTable(const Report& report);

absl::Status WriteJson(const Report& report, const std::string& path);

}  // namespace locket::bench

#endif  // LOCKET_BENCH_RESULTS_H_
