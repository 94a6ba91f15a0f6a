// Which CPUs a client and its server run on.
#ifndef LOCKET_BENCH_CPUS_H_
#define LOCKET_BENCH_CPUS_H_

#include <optional>

#include "absl/status/status.h"

namespace locket::bench {

struct CpuPair {
  int client;
  int server;
  bool share_core;  // hyperthreads of one core: the best there is, and not comparable
};

// Of the CPUs that this process may use. Nothing if that is one CPU.
std::optional<CpuPair> ChooseCpus();

// The calling thread, and the threads that it starts.
absl::Status PinTo(int cpu);

}  // namespace locket::bench

#endif  // LOCKET_BENCH_CPUS_H_
