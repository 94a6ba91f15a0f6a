#include "locket/bench/cpu_time.h"

#include <errno.h>
#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace locket::bench {

absl::StatusOr<CpuTime> ReadCpuTime(pid_t pid) {
  CpuTime result;
  const std::string folder = absl::StrCat("/proc/", pid, "/task");
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(folder, error)) {
    std::ifstream file(thread.path() / "schedstat");
    int64_t on_cpu_ns = 0;
    pid_t tid = 0;
    // A thread that has just ended has no file.
    if (file >> on_cpu_ns && absl::SimpleAtoi(thread.path().filename().string(), &tid)) {
      result.threads_ns[tid] = on_cpu_ns;
    }
  }
  if (result.threads_ns.empty()) {
    return absl::NotFoundError(absl::StrCat("no schedstat in ", folder, " ", error.message()));
  }
  clockid_t clock;
  timespec used;
  if (const int failed = clock_getcpuclockid(pid, &clock); failed != 0) {
    return absl::ErrnoToStatus(failed, absl::StrCat("clock_getcpuclockid(", pid, ")"));
  }
  if (clock_gettime(clock, &used) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("clock_gettime of process ", pid));
  }
  result.process_ns = used.tv_sec * int64_t{1'000'000'000} + used.tv_nsec;
  return result;
}

int64_t CpuTimeBetween(const CpuTime& before, const CpuTime& after) {
  int64_t sum = 0;
  for (const auto& [tid, ns] : after.threads_ns) {
    const auto earlier = before.threads_ns.find(tid);
    sum += earlier == before.threads_ns.end() ? ns : ns - earlier->second;
  }
  return std::max(sum, after.process_ns - before.process_ns);
}

}  // namespace locket::bench
