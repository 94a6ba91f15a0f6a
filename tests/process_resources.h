// What a process holds: for tests that nothing of it grows.
#ifndef LOCKET_TESTS_PROCESS_RESOURCES_H_
#define LOCKET_TESTS_PROCESS_RESOURCES_H_

#include <cstddef>
#include <string>

namespace locket::tests {

// A snapshot of the calling process. A value type.
struct ProcessResources {
  int descriptors = 0;
  int maps = 0;
  int segment_maps = 0;  // Those of Locket's segments.
  int threads = 0;
  size_t heap_bytes = 0;  // In use; 0 where a sanitizer has the heap.
  size_t resident_bytes = 0;

  static ProcessResources Now();

  // What has grown beyond what threads and the allocator may keep; empty if nothing.
  std::string GrowthSince(const ProcessResources& before) const;

  std::string ToString() const;
};

}  // namespace locket::tests

#endif  // LOCKET_TESTS_PROCESS_RESOURCES_H_
