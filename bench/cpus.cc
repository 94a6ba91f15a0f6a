#include "locket/bench/cpus.h"

#include <errno.h>
#include <sched.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"

namespace locket::bench {
namespace {

// The hyperthreads of this CPU's core, as the kernel writes them; "" if it does not say.
std::string Siblings(int cpu) {
  std::ifstream file(
      absl::StrCat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
  std::string list;
  std::getline(file, list);
  return list;
}

}  // namespace

std::optional<CpuPair> ChooseCpus() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return std::nullopt;
  int first = -1;
  std::optional<CpuPair> choice;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    if (first < 0) {
      first = cpu;
      continue;
    }
    const std::string siblings = Siblings(cpu);
    const bool share_core = !siblings.empty() && siblings == Siblings(first);
    if (!choice.has_value() || !share_core) choice = CpuPair{first, cpu, share_core};
    if (!share_core) break;
  }
  return choice;
}

absl::Status PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("sched_setaffinity to CPU ", cpu));
  }
  return absl::OkStatus();
}

}  // namespace locket::bench
