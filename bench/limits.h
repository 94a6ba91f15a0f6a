// Descriptors for benchmarks with many connections.
#ifndef LOCKET_BENCH_LIMITS_H_
#define LOCKET_BENCH_LIMITS_H_

#include <errno.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace locket::bench {

// Lets this process have descriptors for so many connections; four each are enough.
inline absl::Status AllowDescriptors(size_t connections) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::ErrnoToStatus(errno, "getrlimit");
  const rlim_t wanted = 4 * connections + 64;
  if (limit.rlim_cur >= wanted) return absl::OkStatus();
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (limit.rlim_cur < wanted || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::ResourceExhaustedError(absl::StrCat(connections, " connections need ", wanted,
                                                     " descriptors, and the hard limit is ",
                                                     limit.rlim_max));
  }
  return absl::OkStatus();
}

}  // namespace locket::bench

#endif  // LOCKET_BENCH_LIMITS_H_
