#include "locket/tests/process_resources.h"

#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace locket::tests {
namespace {

// Stacks and arenas that the C library keeps for the next thread.
constexpr int kMapsKept = 32;
// The heap's own noise: strings of the latest errors, hash tables that have not shrunk.
constexpr size_t kHeapKept = 256 << 10;
constexpr size_t kResidentKept = 32 << 20;

// The entries of a folder of /proc/self.
int CountEntries(const char* path) {
  DIR* const folder = opendir(path);
  if (folder == nullptr) return -1;
  int count = 0;
  while (const dirent* const entry = readdir(folder)) {
    if (entry->d_name[0] != '.') ++count;
  }
  closedir(folder);
  return count;
}

}  // namespace

ProcessResources ProcessResources::Now() {
  ProcessResources now;
  now.descriptors = CountEntries("/proc/self/fd");
  now.threads = CountEntries("/proc/self/task");
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    ++now.maps;
    if (line.find("memfd:locket") != std::string::npos) ++now.segment_maps;
  }
  now.heap_bytes = mallinfo2().uordblks;
  std::ifstream statm("/proc/self/statm");
  size_t size = 0;
  size_t resident = 0;
  statm >> size >> resident;
  now.resident_bytes = resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return now;
}

std::string ProcessResources::GrowthSince(const ProcessResources& before) const {
  const bool grown = descriptors > before.descriptors || segment_maps > before.segment_maps ||
                     threads > before.threads || maps > before.maps + kMapsKept ||
                     heap_bytes > before.heap_bytes + kHeapKept ||
                     // A sanitizer keeps freed memory resident for a long time.
                     (heap_bytes > 0 && resident_bytes > before.resident_bytes + kResidentKept);
  return grown ? "from " + before.ToString() + " to " + ToString() : "";
}

std::string ProcessResources::ToString() const {
  return std::to_string(descriptors) + " descriptors, " + std::to_string(maps) + " maps (" +
         std::to_string(segment_maps) + " of segments), " + std::to_string(threads) +
         " threads, heap " + std::to_string(heap_bytes >> 10) + " KiB, resident " +
         std::to_string(resident_bytes >> 10) + " KiB";
}

}  // namespace locket::tests
