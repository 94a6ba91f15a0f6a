// Records over the transport beside their floor and plain sockets, all from one run:
//
//   bazel run --config=opt //bench:transport_bench -- --idle --json /tmp/transport.json
//   tools/bench_check --issue=3 /tmp/transport.json
//
// Benchmarks:
//   ping_pong/A/B             A bytes there, B bytes back, one after the other, both sides wait for
//                             this one connection
//   parked/A/B                the same where nobody spins: every wait sleeps. The floor is a futex
//                             for each direction: a store, FUTEX_WAKE and FUTEX_WAIT
//   throughput/A              messages of A bytes one way, without waiting; p50 is the mean time of
//                             one, p99 the same
//   connections/N             ping_pong/4/4 over one of N connections that one thread of the server
//                             waits for; the others are silent
//   parked_connections/N      the same where nobody spins
//   idle_transport            CPU time of a server and a client after one call
//
// One ping-pong of one's own shape, with the options of Jocket's bench, instead of all that:
//
//   transport_bench --reply_size=1024 --calls=300000 --warmup_ms=100 --pause_ns=1000
//   --dump=/tmp/lat gnuplot -p -e 'plot "/tmp/lat.locket" with dots, "/tmp/lat.tcp" with dots'
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "locket/bench/runner.h"
#include "locket/bench/system.h"

ABSL_FLAG(std::optional<uint32_t>, request_size, std::nullopt,
          "One ping-pong, of requests of so many bytes (4 if only the reply's is given).");
ABSL_FLAG(std::optional<uint32_t>, reply_size, std::nullopt,
          "One ping-pong, of replies of so many bytes (1024 if only the request's is given).");
ABSL_FLAG(int64_t, pause_ns, 0, "Between two calls; not part of their times.");
ABSL_FLAG(bool, no_statistics, false,
          "Do not read the clock for each call: only the mean is told.");
ABSL_FLAG(bool, tcp, false, "TCP alone, instead of all systems.");
ABSL_FLAG(std::string, dump, "",
          "Write the times of a round's calls in us, one a line, to this path with .SYSTEM "
          "appended; the last benchmark and round stay.");

namespace locket::bench {
namespace {

Benchmark Make(const std::string& name, uint32_t request_bytes, uint32_t reply_bytes) {
  Benchmark benchmark;
  benchmark.name = name;
  benchmark.setup.mutable_shape()->set_request_bytes(request_bytes);
  benchmark.setup.mutable_shape()->set_reply_bytes(reply_bytes);
  return benchmark;
}

Benchmark PingPong(uint32_t request_bytes, uint32_t reply_bytes) {
  return Make(absl::StrCat("ping_pong/", request_bytes, "/", reply_bytes), request_bytes,
              reply_bytes);
}

Benchmark Parked(uint32_t request_bytes, uint32_t reply_bytes) {
  Benchmark benchmark =
      Make(absl::StrCat("parked/", request_bytes, "/", reply_bytes), request_bytes, reply_bytes);
  benchmark.setup.set_parked(true);
  return benchmark;
}

Benchmark Throughput(uint32_t bytes) {
  Benchmark benchmark = Make(absl::StrCat("throughput/", bytes), bytes, 1);
  benchmark.setup.set_pattern(Setup::ONE_WAY);
  return benchmark;
}

Benchmark Connections(const std::string& name, uint32_t count, bool parked) {
  Benchmark benchmark = Make(absl::StrCat(name, "/", count), 4, 4);
  benchmark.setup.set_connections(count);
  benchmark.setup.set_parked(parked);
  return benchmark;
}

std::vector<Benchmark> Benchmarks() {
  const std::optional<uint32_t> request = absl::GetFlag(FLAGS_request_size);
  const std::optional<uint32_t> reply = absl::GetFlag(FLAGS_reply_size);
  if (request.has_value() || reply.has_value()) {
    return {PingPong(request.value_or(4), reply.value_or(1024))};
  }
  return {
      PingPong(4, 4),
      PingPong(4, 1024),
      PingPong(1024, 1024),
      PingPong(65536, 65536),
      PingPong(1 << 20, 1 << 20),
      Parked(4, 4),
      Throughput(64),
      Throughput(1024),
      Throughput(65536),
      Throughput(1 << 20),
      Connections("connections", 1, /*parked=*/false),
      Connections("connections", 1000, /*parked=*/false),
      Connections("parked_connections", 1, /*parked=*/true),
      Connections("parked_connections", 1000, /*parked=*/true),
  };
}

Program MakeProgram() {
  Program program;
  program.name = "transport_bench";
  program.systems.push_back(MakeFloorSystem());
  program.systems.push_back(MakeTransportSystem());
  program.systems.push_back(MakeUnixSystem());
  program.systems.push_back(MakeTcpSystem());
  program.benchmarks = Benchmarks();
  program.idle_name = "idle_transport";
  program.plan.set_pause_ns(absl::GetFlag(FLAGS_pause_ns));
  program.plan.set_no_statistics(absl::GetFlag(FLAGS_no_statistics));
  program.plan.set_dump_path(absl::GetFlag(FLAGS_dump));
  return program;
}

}  // namespace
}  // namespace locket::bench

int main(int argc, char** argv) {
  const std::vector<char*> arguments(argv, argv + argc);
  absl::SetProgramUsageMessage("Records of Locket's transport, plain sockets and the floor.");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) {
    fprintf(stderr, "transport_bench: what is \"%s\"?\n", rest[1]);
    return 2;
  }
  if (absl::GetFlag(FLAGS_tcp)) absl::SetFlag(&FLAGS_systems, std::vector<std::string>{"tcp"});
  if (absl::GetFlag(FLAGS_no_statistics) &&
      (absl::GetFlag(FLAGS_pause_ns) > 0 || !absl::GetFlag(FLAGS_dump).empty())) {
    fprintf(stderr, "transport_bench: --no_statistics goes neither with --pause_ns nor --dump\n");
    return 2;
  }
  return locket::bench::RunProgram(locket::bench::MakeProgram(), arguments);
}
