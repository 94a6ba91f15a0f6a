#include "locket/bench/results.h"

#include <errno.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "google/protobuf/util/json_util.h"

namespace locket::bench {
namespace {

constexpr char kFloor[] = "floor";
constexpr char kRival[] = "grpc-unix";

// Rounds of the floor that differ by more than this are worth a remark.
constexpr double kSteady = 1.5;

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double Rounded(double value) { return std::round(value * 1e4) / 1e4; }

const Result* Find(const Report& report, const std::string& system, const std::string& name) {
  for (const Result& result : report.results()) {
    if (result.system() == system && result.name() == name) return &result;
  }
  return nullptr;
}

// "12.3" or, where there is nothing to compare with, "-".
std::string Ratio(double ratio) { return std::isnan(ratio) ? "-" : absl::StrFormat("%.2f", ratio); }

}  // namespace

Machine DescribeMachine(absl::Span<char* const> arguments) {
  Machine machine;
  machine.set_cpu_model(CpuModel());
  machine.set_cpus(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  utsname kernel;
  if (uname(&kernel) == 0) {
    machine.set_kernel(absl::StrCat(kernel.sysname, " ", kernel.release, " ", kernel.machine));
  }
  machine.set_date(absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone()));
  machine.set_command_line(absl::StrJoin(arguments, " "));
#ifdef __clang__
  machine.set_compiler(__VERSION__);
#else
  machine.set_compiler("gcc " __VERSION__);
#endif
#if defined(__OPTIMIZE__) && defined(NDEBUG)
  machine.set_optimized(true);
#endif
  return machine;
}

double Median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Result Summarize(const std::string& system, const std::string& name,
                 absl::Span<const Measurement> rounds) {
  Result result;
  result.set_system(system);
  result.set_name(name);
  std::vector<double> p50, p99, per_second;
  std::map<double, std::vector<double>> percentiles;
  for (const Measurement& round : rounds) {
    p50.push_back(round.p50_us());
    p99.push_back(round.p99_us());
    per_second.push_back(round.per_second());
    result.add_rounds_p50_us(Rounded(round.p50_us()));
    for (const Percentile& each : round.percentiles()) {
      percentiles[each.percent()].push_back(each.us());
    }
  }
  result.set_p50_us(Rounded(Median(p50)));
  result.set_p99_us(Rounded(Median(p99)));
  result.set_per_second(std::round(Median(per_second)));
  for (const auto& [percent, values] : percentiles) {
    Percentile* const added = result.add_percentiles();
    added->set_percent(percent);
    added->set_us(Rounded(Median(values)));
  }
  return result;
}

double TimesSlower(const Result& result, const Result& reference) {
  std::vector<double> ratios;
  const int rounds = std::min(result.rounds_p50_us_size(), reference.rounds_p50_us_size());
  for (int i = 0; i < rounds; ++i) {
    ratios.push_back(result.rounds_p50_us(i) / reference.rounds_p50_us(i));
  }
  return Median(std::move(ratios));
}

std::string Table(const Report& report) {
  const Machine& machine = report.machine();
  std::string text =
      absl::StrCat(machine.cpu_model(), ", ", machine.cpus(), " CPUs, ", machine.kernel(), ", ",
                   machine.date(), "\n", machine.compiler(), ", ", machine.pinning(), "\n");
  if (!machine.optimized()) {
    absl::StrAppend(&text, "NOT AN OPTIMISED BUILD: the figures say nothing; use --config=opt\n");
  }
  absl::StrAppendFormat(&text, "\n%-26s %-10s %10s %10s %12s %8s %12s\n", "benchmark", "system",
                        "p50 us", "p99 us", "per second", "/ floor", "gRPC / this");
  for (const Result& result : report.results()) {
    if (result.has_percent()) {
      absl::StrAppendFormat(&text, "%-26s %-10s %9.4f%% of a CPU\n", result.name(), result.system(),
                            result.percent());
      continue;
    }
    const Result* const floor = Find(report, kFloor, result.name());
    const Result* const rival = Find(report, kRival, result.name());
    const double none = std::numeric_limits<double>::quiet_NaN();
    absl::StrAppendFormat(&text, "%-26s %-10s %10.3f %10.3f %12.0f %8s %12s\n", result.name(),
                          result.system(), result.p50_us(), result.p99_us(), result.per_second(),
                          Ratio(floor != nullptr ? TimesSlower(result, *floor) : none),
                          Ratio(rival != nullptr ? TimesSlower(*rival, result) : none));
  }
  for (const Result& result : report.results()) {
    if (result.system() != kFloor || result.rounds_p50_us_size() == 0) continue;
    const auto [least, most] =
        std::minmax_element(result.rounds_p50_us().begin(), result.rounds_p50_us().end());
    if (*most < *least * kSteady) continue;
    absl::StrAppendFormat(&text,
                          "The floor of %s was %.3f us in one round, %.3f in another: this machine "
                          "changes meanwhile.\n",
                          result.name(), *least, *most);
  }
  return text;
}

std::string PercentileTable(const Report& report) {
  std::string text;
  for (const Result& result : report.results()) {
    if (result.percentiles().empty()) continue;
    if (text.empty()) {
      absl::StrAppendFormat(&text, "\n%-26s %-10s", "percentiles, us", "system");
      for (const Percentile& each : result.percentiles()) {
        absl::StrAppendFormat(&text, " %9s", absl::StrCat(each.percent(), " %"));
      }
      text += '\n';
    }
    absl::StrAppendFormat(&text, "%-26s %-10s", result.name(), result.system());
    for (const Percentile& each : result.percentiles()) {
      absl::StrAppendFormat(&text, " %9.3f", each.us());
    }
    text += '\n';
  }
  return text;
}

absl::Status WriteJson(const Report& report, const std::string& path) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  if (auto status = google::protobuf::util::MessageToJsonString(report, &json, options);
      !status.ok()) {
    return absl::InternalError(absl::StrCat("JSON: ", status.ToString()));
  }
  std::ofstream file(path, std::ios::trunc);
  file << json;
  file.close();
  if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("writing ", path));
  return absl::OkStatus();
}

}  // namespace locket::bench
