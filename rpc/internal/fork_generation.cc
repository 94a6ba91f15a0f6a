#include "locket/rpc/internal/fork_generation.h"

#include <pthread.h>

#include <atomic>

namespace locket::internal {
namespace {

// Written in a child before any of its code runs.
std::atomic<uint64_t> forks{0};

void CountFork() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint64_t ForkGeneration() {
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, &CountFork);
  // relaxed: the forking thread is the child's only one.
  return forks.load(std::memory_order_relaxed);
}

}  // namespace locket::internal
