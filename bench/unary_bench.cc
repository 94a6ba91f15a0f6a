// Unary calls of Locket beside their floor and their rivals, all from one run:
//
//   bazel run --config=opt //bench:unary_bench -- --idle --json /tmp/unary.json
//   tools/bench_check /tmp/unary.json
//
// Systems take turns: round 1 of each, then round 2 of each. What the machine does meanwhile hits
// neighbours alike, and the ratios are taken round by round. Measurements are short for the same
// reason: a virtual machine's two CPUs are hyperthreads of one core at one time and two cores a few
// seconds later, whatever they are pinned to (measured on an EPYC: the floor at 4 B is 0.16 us,
// then 0.45; at 1 KiB 0.30, then 1.0). The floor and Locket of one round lie within a fifth of a
// second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "locket/bench/pair.h"
#include "locket/bench/results.h"
#include "locket/bench/system.h"

ABSL_FLAG(std::vector<std::string>, systems, {}, "Which, in this order; empty: all.");
ABSL_FLAG(std::string, filter, "", "Only benchmarks whose name contains this.");
ABSL_FLAG(int, rounds, 9, "Measurements of each system and benchmark.");
ABSL_FLAG(int64_t, calls, 50'000, "Calls in a measurement, at most.");
ABSL_FLAG(int, max_ms, 300, "Time of a measurement, at most.");
ABSL_FLAG(int, warmup_ms, 30,
          "Calls for this long before each measurement; a lap of a ring is 16 ms.");
ABSL_FLAG(bool, pin, true, "Client and server each on a CPU of its own.");
ABSL_FLAG(bool, pin_grpc, false, "Those of grpc++ too: its threads share those two CPUs then.");
ABSL_FLAG(bool, idle, false, "Measure the CPU time of an idle server and client, too.");
ABSL_FLAG(int, idle_ms, 10'000, "For this long.");
ABSL_FLAG(std::string, json, "", "Write the results to this file.");
ABSL_FLAG(std::string, child, "", "For its own use: the role of a process it starts.");

namespace locket::bench {
namespace {

constexpr char kIdleCpu[] = "idle_cpu";

using Systems = std::vector<std::unique_ptr<System>>;

Systems AllSystems() {
  Systems systems;
  systems.push_back(MakeFloorSystem());
  systems.push_back(MakeLocketSystem());
  systems.push_back(MakeGrpcSystem());
  systems.push_back(MakeUnixSystem());
  return systems;
}

const System* Find(const Systems& systems, const std::string& name) {
  for (const auto& system : systems) {
    if (system->name() == name) return system.get();
  }
  std::vector<std::string> names;
  for (const auto& system : systems) names.push_back(system->name());
  fprintf(stderr, "unary_bench: no system \"%s\" here, but: %s\n", name.c_str(),
          absl::StrJoin(names, ", ").c_str());
  return nullptr;
}

Shape MakeShape(uint32_t request_bytes, uint32_t reply_bytes) {
  Shape shape;
  shape.set_request_bytes(request_bytes);
  shape.set_reply_bytes(reply_bytes);
  return shape;
}

std::string Name(const Shape& shape) {
  return absl::StrCat("unary/", shape.request_bytes(), "/", shape.reply_bytes());
}

bool Wanted(const std::string& name) {
  return name.find(absl::GetFlag(FLAGS_filter)) != std::string::npos;
}

std::string DescribePinning(std::optional<CpuPair> cpus) {
  if (!absl::GetFlag(FLAGS_pin)) return "not pinned";
  if (!cpus.has_value()) return "not pinned: one CPU";
  return absl::StrCat("client on CPU ", cpus->client, ", server on CPU ", cpus->server,
                      cpus->share_core ? " of the SAME core" : "",
                      absl::GetFlag(FLAGS_pin_grpc) ? "" : ", grpc++ not pinned");
}

std::optional<CpuPair> CpusOf(const System& system, std::optional<CpuPair> cpus) {
  const bool pin =
      absl::GetFlag(FLAGS_pin) && (system.name() != "grpc-unix" || absl::GetFlag(FLAGS_pin_grpc));
  return pin ? cpus : std::nullopt;
}

absl::Status RunRounds(const std::vector<const System*>& systems, std::optional<CpuPair> cpus,
                       SocketFolder& sockets, Report& report) {
  std::vector<Shape> shapes = {MakeShape(4, 4), MakeShape(4, 1024), MakeShape(65536, 65536)};
  std::erase_if(shapes, [](const Shape& shape) { return !Wanted(Name(shape)); });
  Plan plan;
  plan.set_calls(absl::GetFlag(FLAGS_calls));
  plan.set_max_ns(absl::GetFlag(FLAGS_max_ms) * int64_t{1'000'000});
  plan.set_warmup_ns(absl::GetFlag(FLAGS_warmup_ms) * int64_t{1'000'000});
  std::vector<std::vector<Measurement>> measured(shapes.size() * systems.size());
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      for (size_t j = 0; j < systems.size(); ++j) {
        absl::StatusOr<Measurement> measurement =
            MeasurePair(*systems[j], shapes[i], plan, CpusOf(*systems[j], cpus), sockets);
        if (!measurement.ok()) {
          return absl::Status(
              measurement.status().code(),
              absl::StrCat(systems[j]->name(), " ", Name(shapes[i]), ", round ", round + 1, ": ",
                           std::string(measurement.status().message())));
        }
        measured[i * systems.size() + j].push_back(*std::move(measurement));
      }
    }
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (size_t j = 0; j < systems.size(); ++j) {
      *report.add_results() =
          Summarize(systems[j]->name(), Name(shapes[i]), measured[i * systems.size() + j]);
    }
  }
  return absl::OkStatus();
}

absl::Status RunIdle(const std::vector<const System*>& systems, std::optional<CpuPair> cpus,
                     SocketFolder& sockets, Report& report) {
  for (const System* system : systems) {
    if (!system->sleeps() || !Wanted(kIdleCpu)) continue;
    absl::StatusOr<double> percent =
        MeasureIdle(*system, std::chrono::milliseconds(absl::GetFlag(FLAGS_idle_ms)),
                    CpusOf(*system, cpus), sockets);
    if (!percent.ok()) {
      return absl::Status(percent.status().code(),
                          absl::StrCat(system->name(), " ", kIdleCpu, ": ",
                                       std::string(percent.status().message())));
    }
    Result* const result = report.add_results();
    result->set_system(system->name());
    result->set_name(kIdleCpu);
    result->set_percent(*percent);
  }
  return absl::OkStatus();
}

absl::Status Run(const std::vector<const System*>& systems, Report& report) {
  absl::StatusOr<SocketFolder> sockets = SocketFolder::Create();
  if (!sockets.ok()) return sockets.status();
  const std::optional<CpuPair> cpus = ChooseCpus();
  report.mutable_machine()->set_pinning(DescribePinning(cpus));
  if (absl::Status status = RunRounds(systems, cpus, *sockets, report); !status.ok()) {
    return status;
  }
  if (absl::GetFlag(FLAGS_idle)) return RunIdle(systems, cpus, *sockets, report);
  return absl::OkStatus();
}

int Main(absl::Span<char* const> arguments) {
  const Systems all = AllSystems();

  if (const std::string text = absl::GetFlag(FLAGS_child); !text.empty()) {
    ChildRole role;
    if (!google::protobuf::TextFormat::ParseFromString(text, &role)) return 2;
    const System* const system = Find(all, role.system());
    return system != nullptr ? RunChild(role, *system) : 2;
  }

  if (absl::GetFlag(FLAGS_rounds) < 1 || absl::GetFlag(FLAGS_calls) < 1 ||
      absl::GetFlag(FLAGS_max_ms) < 1) {
    fprintf(stderr, "unary_bench: --rounds, --calls and --max_ms begin at 1\n");
    return 2;
  }
  std::vector<const System*> systems;
  for (const std::string& name : absl::GetFlag(FLAGS_systems)) {
    systems.push_back(Find(all, name));
    if (systems.back() == nullptr) return 2;
  }
  if (systems.empty()) {
    for (const auto& system : all) systems.push_back(system.get());
  }

  CatchInterrupts();
  Report report;
  *report.mutable_machine() = DescribeMachine(arguments);
  if (absl::Status status = Run(systems, report); !status.ok()) {
    fprintf(stderr, "unary_bench: %s\n", status.ToString().c_str());
    return 1;
  }
  fputs(Table(report).c_str(), stdout);
  if (const std::string path = absl::GetFlag(FLAGS_json); !path.empty()) {
    if (absl::Status status = WriteJson(report, path); !status.ok()) {
      fprintf(stderr, "unary_bench: %s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
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
  return locket::bench::Main(arguments);
}
