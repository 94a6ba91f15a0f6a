// How much CPU time another process uses.
#ifndef LOCKET_BENCH_CPU_TIME_H_
#define LOCKET_BENCH_CPU_TIME_H_

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "absl/status/statusor.h"

namespace locket::bench {

struct CpuTime {
  std::map<pid_t, int64_t> threads_ns;  // /proc/<pid>/task/<tid>/schedstat: time on a CPU
  int64_t process_ns;                   // the process's CPU clock: threads that have ended, too
};

absl::StatusOr<CpuTime> ReadCpuTime(pid_t pid);

// The sum over the threads' schedstat, or the process's clock where that says more: a thread that
// ends in between takes its schedstat with it.
int64_t CpuTimeBetween(const CpuTime& before, const CpuTime& after);

}  // namespace locket::bench

#endif  // LOCKET_BENCH_CPU_TIME_H_
