// How a side sleeps until its peer provides something, and how the peer wakes it; the same for each
// of the four waits (reader and writer, each direction):
//
//   sleeper                              waker
//   (a) state = kParked                  (c) publish (commit word, or head)
//       fence                                fence
//   (b) what it waits for is there?      (d) state == kParked? change it to kRung, and wake
//       yes: state = kRunning, go on
//       no:  sleep while state == kParked
//
// A reader that sleeps at a doorbell says kParkedAtDoorbell where this says kParked.
//
// Invariant: no wake-up is lost. The two seq_cst fences order (a) before (b) and (c) before (d), so
// either the sleeper sees what was published, or the waker sees kParked. With acquire and release
// alone both could read the old value (store buffering): the sleeper would sleep beside a published
// record, the waker would ring nobody. If the waker changes the state between (b) and the sleep,
// the futex sees that it is no longer kParked and returns at once.
//
// What wakes a sleeper from its own process (Interrupt(), an end) needs no fence: it changes a word
// that the futex compares too, or that has a waker of its own.
#ifndef LOCKET_TRANSPORT_INTERNAL_WAIT_PROTOCOL_H_
#define LOCKET_TRANSPORT_INTERNAL_WAIT_PROTOCOL_H_

#include <atomic>
#include <cstdint>

#include "locket/transport/internal/atomics.h"
#include "locket/transport/internal/layout.h"

namespace locket::transport::internal {

template <typename Atomics>
class BasicWaitProtocol {
 public:
  using State = typename Atomics::template Atomic<uint32_t>;
  using Control = BasicRingControl<Atomics>;

  // ---- Sleeper

  // (a), fence, (b): true if `done()` is false and whoever makes it true will wake this thread.
  template <typename Done>
  static bool Park(State& state, Done done, WaitState parked = kParked) {
    state.store(parked, std::memory_order_relaxed);  // relaxed: ordered by the fence.
    Atomics::SleeperFence();
    if (!done()) return true;
    Unpark(state);
    return false;
  }

  static void Unpark(State& state) {
    // relaxed: a waker that still reads kParked rings in vain.
    state.store(kRunning, std::memory_order_relaxed);
  }

  // Sleeps until `done()`. `sleep()` returns when the state is no longer kParked, or for another
  // reason.
  template <typename Done, typename Sleep>
  static void SleepUntil(State& state, Done done, Sleep sleep) {
    while (Park(state, done)) sleep();
  }

  // Before a writer parks: the head that it waits for.
  static void WantHead(Control& control, uint64_t wanted) {
    // relaxed: read by the peer after the fence that follows kParked.
    control.wanted_head.store(wanted, std::memory_order_relaxed);
  }

  // ---- Waker: after (c), the fence and (d).

  // Where the reader sleeps that must be woken: kParked or, if the writer has a doorbell,
  // kParkedAtDoorbell. kRunning: nobody must be.
  static WaitState TakeReader(Control& control, bool has_doorbell) {
    Atomics::WakerFence();
    // relaxed: ordered by the fence.
    const uint32_t state = control.reader_state.load(std::memory_order_relaxed);
    if (state == kParked && Take(control.reader_state, kParked)) return kParked;
    if (state == kParkedAtDoorbell && has_doorbell &&
        Take(control.reader_state, kParkedAtDoorbell)) {
      return kParkedAtDoorbell;
    }
    return kRunning;
  }

  // True for who must wake the writer. `head` is what was published.
  static bool TakeWriter(Control& control, uint64_t head) {
    Atomics::WakerFence();
    // relaxed, both: ordered by the fence. The wanted head is the peer's word: it only decides when
    // the peer is woken.
    return control.writer_state.load(std::memory_order_relaxed) == kParked &&
           head >= control.wanted_head.load(std::memory_order_relaxed) &&
           Take(control.writer_state, kParked);
  }

 private:
  // relaxed: ordered by the fence.
  static bool Take(State& state, uint32_t parked) {
    return state.compare_exchange_strong(parked, kRung, std::memory_order_relaxed);
  }
};

using WaitProtocol = BasicWaitProtocol<StdAtomics>;

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_WAIT_PROTOCOL_H_
