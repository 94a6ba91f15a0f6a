// Unary calls of Locket beside their floor and their rivals, all from one run:
//
//   bazel run --config=opt //bench:unary_bench -- --idle --json /tmp/unary.json
//   tools/bench_check --issue=2 /tmp/unary.json
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "locket/bench/runner.h"
#include "locket/bench/system.h"

ABSL_FLAG(bool, pin_grpc, false, "Those of grpc++ too: its threads share those two CPUs then.");

namespace locket::bench {
namespace {

Benchmark Unary(uint32_t request_bytes, uint32_t reply_bytes) {
  Benchmark benchmark;
  benchmark.name = absl::StrCat("unary/", request_bytes, "/", reply_bytes);
  benchmark.setup.mutable_shape()->set_request_bytes(request_bytes);
  benchmark.setup.mutable_shape()->set_reply_bytes(reply_bytes);
  return benchmark;
}

Program MakeProgram() {
  Program program;
  program.name = "unary_bench";
  program.systems.push_back(MakeFloorSystem());
  program.systems.push_back(MakeLocketSystem());
  program.systems.push_back(MakeGrpcSystem());
  program.systems.push_back(MakeUnixSystem());
  program.benchmarks = {Unary(4, 4), Unary(4, 1024), Unary(65536, 65536)};
  program.idle_name = "idle_cpu";
  if (!absl::GetFlag(FLAGS_pin_grpc)) {
    program.pinned = [](const System& system) { return system.name() != "grpc-unix"; };
    program.pinning_remark = ", grpc++ not pinned";
  }
  return program;
}

}  // namespace
}  // namespace locket::bench

int main(int argc, char** argv) {
  const std::vector<char*> arguments(argv, argv + argc);
  absl::SetProgramUsageMessage("Unary calls of Locket, grpc++, a Unix socket and the floor.");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) {
    fprintf(stderr, "unary_bench: what is \"%s\"?\n", rest[1]);
    return 2;
  }
  return locket::bench::RunProgram(locket::bench::MakeProgram(), arguments);
}
