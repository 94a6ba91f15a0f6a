// Where a connection is in its life, and the count by which its waits learn of that, and of
// interrupts.
//
// Thread safety: any thread; RaiseTo() under a lock of the caller's.
#ifndef LOCKET_TRANSPORT_INTERNAL_LIFE_H_
#define LOCKET_TRANSPORT_INTERNAL_LIFE_H_

#include <atomic>
#include <cstdint>

#include "locket/transport/internal/atomics.h"

namespace locket::transport::internal {

enum class Stage : uint32_t { kOpen, kPeerGone, kClosed };

// A wait reads the count, looks whether anything else is to be done, and sleeps while the count is
// what it read. Whoever changes something first changes it, then calls CountInterrupt(), then wakes
// who sleeps on the count.
template <typename Atomics>
class BasicLife {
 public:
  using Count = typename Atomics::template Atomic<uint32_t>;

  // Acquire: who sees the end also sees every record that was committed before it.
  Stage stage() const { return static_cast<Stage>(stage_.load(std::memory_order_acquire)); }
  bool ended() const { return stage() != Stage::kOpen; }
  // relaxed: a hint, for who may come before an end or after it.
  bool seems_open() const {
    return stage_.load(std::memory_order_relaxed) == static_cast<uint32_t>(Stage::kOpen);
  }

  // The stage only goes up. CountInterrupt() comes after it.
  void RaiseTo(Stage stage) {
    const auto raised = static_cast<uint32_t>(stage);
    // relaxed: the lock orders it. Release: pairs with the acquire in stage().
    if (stage_.load(std::memory_order_relaxed) < raised) {
      stage_.store(raised, std::memory_order_release);
    }
  }

  uint32_t interrupts() const { return interrupts_.load(std::memory_order_acquire); }
  // Release: who sees the new count sees what was changed before it.
  void CountInterrupt() { interrupts_.fetch_add(1, std::memory_order_release); }

  // To sleep on.
  const Count& interrupts_word() const { return interrupts_; }

 private:
  Count interrupts_{0};
  Count stage_{static_cast<uint32_t>(Stage::kOpen)};
};

using Life = BasicLife<StdAtomics>;

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_LIFE_H_
