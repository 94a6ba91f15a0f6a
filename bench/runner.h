// What every benchmark program does: reads the flags, lets its systems take turns, prints, writes.
//
// Systems take turns: round 1 of each, then round 2 of each. What the machine does meanwhile hits
// neighbours alike, and the ratios are taken round by round. Measurements are short for the same
// reason: a virtual machine's two CPUs are hyperthreads of one core at one time and two cores a few
// seconds later, whatever they are pinned to (measured on an EPYC: the floor at 4 B is 0.16 us,
// then 0.45; at 1 KiB 0.30, then 1.0). The floor and Locket of one round lie within a fifth of a
// second.
#ifndef LOCKET_BENCH_RUNNER_H_
#define LOCKET_BENCH_RUNNER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/types/span.h"
#include "bench/pair.pb.h"
#include "locket/bench/system.h"

// The flags that all programs have are in runner.cc.
ABSL_DECLARE_FLAG(std::vector<std::string>, systems);

namespace locket::bench {

struct Benchmark {
  std::string name;
  Setup setup;
};

struct Program {
  std::string name;  // As it stands in front of messages.
  std::vector<std::unique_ptr<System>> systems;
  std::vector<Benchmark> benchmarks;
  std::string idle_name;  // Of the benchmark that --idle adds.
  // Of the plan, what no common flag says.
  Plan plan;
  // Whether a system is pinned where --pin is set, and what to add to the report if it is not.
  std::function<bool(const System&)> pinned = [](const System&) { return true; };
  std::string pinning_remark;
};

// Runs the program, or, as a process that it has started, its role. The exit status; `arguments`
// are main()'s, the flags have been read.
int RunProgram(const Program& program, absl::Span<char* const> arguments);

}  // namespace locket::bench

#endif  // LOCKET_BENCH_RUNNER_H_
