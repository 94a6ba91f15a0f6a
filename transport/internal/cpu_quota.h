// How much CPU time the control groups of this process leave it.
#ifndef LOCKET_TRANSPORT_INTERNAL_CPU_QUOTA_H_
#define LOCKET_TRANSPORT_INTERNAL_CPU_QUOTA_H_

#include <string>

namespace locket::transport::internal {

// The least quota of this process's control group and all that it lies in, as far as they can be
// seen, in CPUs: cpu.max of cgroup v2, cpu.cfs_quota_us of v1. 1.5 is a second and a half of CPU
// time in each second. Infinity where there is none.
//
// `root` is put in front of every path, for tests.
double CpuQuota(const std::string& root = "");

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_CPU_QUOTA_H_
