// Who of a server's threads reads its connections: one word, changed by compare-and-swap.
#ifndef LOCKET_RPC_INTERNAL_READING_ROLE_H_
#define LOCKET_RPC_INTERNAL_READING_ROLE_H_

#include <atomic>
#include <cstdint>

namespace locket::internal {

// A handler runs on the thread that read its request, and may block. So the *owner* of the reading
// offers it to others while it runs a handler, and keeps it if none took it.
//
// The word counts up; its last bit says what holds:
//
//   even  a thread owns the reading, and only that thread changes the word
//   odd   the owner runs a handler: the first to change the word owns the reading from then on
//
//   Offer()      owner    even c -> c+1
//   Reclaim()    owner    odd c -> c+1  its handler has returned; may find the reading taken
//   TakeOver()   standby  odd c -> c+1  if the word is still what the standby saw a tick ago
//
// Thread safety: as said. Each success of Reclaim() or TakeOver() acquires what the last Offer()
// released: so whatever only the owner touches (the WaitSet, the reading half of the connections,
// calls that are not whole yet) passes from owner to owner.
//
// Invariants:
// (1) Exactly one thread owns the reading, or the word is odd: an odd value is left once, by one
//     compare-and-swap, since the word never returns to a value.
class ReadingRole {
 public:
  // Owner only, before it runs a handler. Returns what Reclaim() wants.
  uint64_t Offer() {
    // relaxed: while the word is even, only this thread changes it.
    const uint64_t offered = word_.load(std::memory_order_relaxed) + 1;
    word_.store(offered, std::memory_order_release);  // [offer]
    return offered;
  }

  // By the thread that offered, and that has run one handler since. True: it still is the owner.
  bool Reclaim(uint64_t offered) {
    // acq_rel: pairs with [offer] and itself, see "Thread safety".
    return word_.compare_exchange_strong(offered, offered + 1, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }

  // By the standby. True: it is the owner now.
  bool TakeOver(uint64_t seen) { return IsOffered(seen) && Reclaim(seen); }

  // relaxed: a hint; TakeOver() acquires.
  uint64_t word() const { return word_.load(std::memory_order_relaxed); }

  static bool IsOffered(uint64_t word) { return (word & 1) != 0; }

 private:
  // Written by the owner, and by whoever takes over.
  std::atomic<uint64_t> word_{0};
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_READING_ROLE_H_
