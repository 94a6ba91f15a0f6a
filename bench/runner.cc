#include "locket/bench/runner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "locket/bench/pair.h"
#include "locket/bench/results.h"

ABSL_FLAG(std::vector<std::string>, systems, {}, "Which, in this order; empty: all.");
ABSL_FLAG(std::vector<std::string>, filter, {},
          "Only benchmarks whose name contains one of these; empty: all.");
ABSL_FLAG(int, rounds, 9, "Measurements of each system and benchmark.");
ABSL_FLAG(int64_t, calls, 50'000, "Calls in a measurement, at most.");
ABSL_FLAG(int, max_ms, 300, "Time of a measurement, at most.");
ABSL_FLAG(int, warmup_ms, 30,
          "Calls for this long before each measurement; a lap of a ring is 16 ms.");
ABSL_FLAG(bool, pin, true, "Client and server each on a CPU of its own.");
ABSL_FLAG(bool, idle, false, "Measure the CPU time of an idle server and client, too.");
ABSL_FLAG(int, idle_ms, 10'000, "For this long.");
ABSL_FLAG(std::string, json, "", "Write the results to this file.");
ABSL_FLAG(std::string, child, "", "For its own use: the role of a process it starts.");

namespace locket::bench {
namespace {

using Systems = std::vector<const System*>;

bool Wanted(const std::string& name) {
  const std::vector<std::string> filter = absl::GetFlag(FLAGS_filter);
  return filter.empty() || std::any_of(filter.begin(), filter.end(), [&](const std::string& each) {
           return name.find(each) != std::string::npos;
         });
}

// One run of a program.
class Run {
 public:
  Run(const Program& program, Systems systems, SocketFolder& sockets, Report& report)
      : program_(program),
        systems_(std::move(systems)),
        sockets_(sockets),
        report_(report),
        cpus_(ChooseCpus()),
        plan_(program.plan) {
    plan_.set_calls(absl::GetFlag(FLAGS_calls));
    plan_.set_max_ns(absl::GetFlag(FLAGS_max_ms) * int64_t{1'000'000});
    plan_.set_warmup_ns(absl::GetFlag(FLAGS_warmup_ms) * int64_t{1'000'000});
  }

  absl::Status Everything() {
    report_.mutable_machine()->set_pinning(DescribePinning());
    NoteWhatIsLeftOut();
    if (absl::Status status = Rounds(); !status.ok()) return status;
    return absl::GetFlag(FLAGS_idle) ? Idle() : absl::OkStatus();
  }

 private:
  struct Measured {
    const Benchmark* benchmark;
    const System* system;
    std::vector<Measurement> rounds;
  };

  std::string DescribePinning() const {
    if (!absl::GetFlag(FLAGS_pin)) return "not pinned";
    if (!cpus_.has_value()) return "not pinned: one CPU";
    return absl::StrCat("client on CPU ", cpus_->client, ", server on CPU ", cpus_->server,
                        cpus_->share_core ? " of the SAME core" : "", program_.pinning_remark);
  }

  void NoteWhatIsLeftOut() {
    for (const auto& system : program_.systems) {
      if (std::find(systems_.begin(), systems_.end(), system.get()) == systems_.end()) {
        report_.add_systems_left_out(system->name());
      }
    }
    for (const Benchmark& benchmark : program_.benchmarks) {
      if (!Wanted(benchmark.name)) report_.add_benchmarks_left_out(benchmark.name);
    }
    if (!absl::GetFlag(FLAGS_idle) || !Wanted(program_.idle_name)) {
      report_.add_benchmarks_left_out(program_.idle_name);
    }
  }

  std::optional<CpuPair> CpusOf(const System& system) const {
    return absl::GetFlag(FLAGS_pin) && program_.pinned(system) ? cpus_ : std::nullopt;
  }

  absl::Status Rounds() {
    std::vector<Measured> all;
    for (const Benchmark& benchmark : program_.benchmarks) {
      if (!Wanted(benchmark.name)) continue;
      for (const System* system : systems_) {
        if (system->Does(benchmark.setup)) all.push_back({&benchmark, system, {}});
      }
    }
    for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
      for (Measured& each : all) {
        absl::StatusOr<Measurement> measurement =
            MeasurePair(*each.system, each.benchmark->setup, plan_, CpusOf(*each.system), sockets_);
        if (!measurement.ok()) {
          return absl::Status(
              measurement.status().code(),
              absl::StrCat(each.system->name(), " ", each.benchmark->name, ", round ", round + 1,
                           ": ", std::string(measurement.status().message())));
        }
        each.rounds.push_back(*std::move(measurement));
      }
    }
    for (const Measured& each : all) {
      *report_.add_results() = Summarize(each.system->name(), each.benchmark->name, each.rounds);
    }
    return absl::OkStatus();
  }

  absl::Status Idle() {
    for (const System* system : systems_) {
      if (!system->sleeps() || !Wanted(program_.idle_name)) continue;
      absl::StatusOr<double> percent =
          MeasureIdle(*system, std::chrono::milliseconds(absl::GetFlag(FLAGS_idle_ms)),
                      CpusOf(*system), sockets_);
      if (!percent.ok()) {
        return absl::Status(percent.status().code(),
                            absl::StrCat(system->name(), " ", program_.idle_name, ": ",
                                         std::string(percent.status().message())));
      }
      Result* const result = report_.add_results();
      result->set_system(system->name());
      result->set_name(program_.idle_name);
      result->set_percent(*percent);
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const Systems systems_;
  SocketFolder& sockets_;
  Report& report_;
  const std::optional<CpuPair> cpus_;
  Plan plan_;
};

const System* Find(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& system : program.systems) {
    if (system->name() == name) return system.get();
    names.push_back(system->name());
  }
  fprintf(stderr, "%s: no system \"%s\" here, but: %s\n", program.name.c_str(), name.c_str(),
          absl::StrJoin(names, ", ").c_str());
  return nullptr;
}

int Fail(const Program& program, const absl::Status& status) {
  fprintf(stderr, "%s: %s\n", program.name.c_str(), status.ToString().c_str());
  return 1;
}

}  // namespace

int RunProgram(const Program& program, absl::Span<char* const> arguments) {
  if (const std::string text = absl::GetFlag(FLAGS_child); !text.empty()) {
    ChildRole role;
    if (!google::protobuf::TextFormat::ParseFromString(text, &role)) return 2;
    const System* const system = Find(program, role.system());
    return system != nullptr ? RunChild(role, *system) : 2;
  }

  if (absl::GetFlag(FLAGS_rounds) < 1 || absl::GetFlag(FLAGS_calls) < 1 ||
      absl::GetFlag(FLAGS_max_ms) < 1) {
    fprintf(stderr, "%s: --rounds, --calls and --max_ms begin at 1\n", program.name.c_str());
    return 2;
  }
  Systems systems;
  for (const std::string& name : absl::GetFlag(FLAGS_systems)) {
    systems.push_back(Find(program, name));
    if (systems.back() == nullptr) return 2;
  }
  if (systems.empty()) {
    for (const auto& system : program.systems) systems.push_back(system.get());
  }

  CatchInterrupts();
  Report report;
  *report.mutable_machine() = DescribeMachine(arguments);
  absl::StatusOr<SocketFolder> sockets = SocketFolder::Create();
  if (!sockets.ok()) return Fail(program, sockets.status());
  absl::Status status = Run(program, std::move(systems), *sockets, report).Everything();
  if (!status.ok()) return Fail(program, status);
  fputs(Table(report).c_str(), stdout);
  fputs(PercentileTable(report).c_str(), stdout);
  if (const std::string path = absl::GetFlag(FLAGS_json); !path.empty()) {
    if (absl::Status written = WriteJson(report, path); !written.ok()) {
      return Fail(program, written);
    }
  }
  return 0;
}

}  // namespace locket::bench
