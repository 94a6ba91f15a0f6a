// What layout.h, ring.h, wait_protocol.h and life.h take their atomics from: a policy, so that the
// model check explores the very code that ships. Nothing else puts another one in its place.
#ifndef LOCKET_TRANSPORT_INTERNAL_ATOMICS_H_
#define LOCKET_TRANSPORT_INTERNAL_ATOMICS_H_

#include <atomic>
#include <cstddef>

namespace locket::transport::internal {

struct StdAtomics {
  template <typename T>
  using Atomic = std::atomic<T>;

  // The two fences of wait_protocol.h, by name: the model check shows that neither can go.
  static void SleeperFence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static void WakerFence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

  // The lines of a ring that stay free: ring.h, (2). The model check shows that 0 are too few.
  static constexpr size_t kFreeLines = 1;

  // The parts of a ring at whose borders a reader looks whether a writer sleeps: ring.h.
  static constexpr size_t kWakeParts = 8;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_ATOMICS_H_
