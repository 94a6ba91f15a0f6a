// The futex calls that waiting needs: shared ones, as the words lie in memory of two processes.
#ifndef LOCKET_TRANSPORT_INTERNAL_FUTEX_H_
#define LOCKET_TRANSPORT_INTERNAL_FUTEX_H_

#include <atomic>
#include <cstdint>

#include "locket/transport/deadline.h"

namespace locket::transport::internal {

// A word to sleep on, and the value that it must still have.
struct FutexWord {
  const std::atomic<uint32_t>* word;
  uint32_t expected;
};

// Sleeps until one of the two words no longer has its expected value and its futex is woken, or the
// deadline passes, or a signal comes: the caller checks again. Returns at once where a word has
// already changed. `shared` lies in memory of two processes, `local` in this one's. True if a word
// had changed or a futex was woken, and not for deadline or signal.
//
// Without futex_waitv (before Linux 5.16, or refused by a seccomp filter) it sleeps on the shared
// word alone, and is known to FutexWakeLocal().
bool FutexWaitTwo(FutexWord shared, FutexWord local, Deadline deadline);

// Wakes the one thread that sleeps on the word by the rules of the ring. One, however many a
// hostile peer lets sleep there.
void FutexWakeShared(const std::atomic<uint32_t>& word);

// Wakes everybody who sleeps on the word, which the caller has changed. Without futex_waitv it
// wakes the shared words of those who expect another value, again and again until they have left:
// one that looked at the local word just before its change may not sleep yet. A hostile peer cannot
// prevent it, as the shared word's value does not matter. Must not be called with a lock that a
// sleeper takes before it leaves.
void FutexWakeLocal(const std::atomic<uint32_t>& word);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_FUTEX_H_
