// The faults that the model check puts into the code, one at a time, to show that it sees them.
#ifndef LOCKET_TRANSPORT_MODEL_MUTANT_H_
#define LOCKET_TRANSPORT_MODEL_MUTANT_H_

#include <cstddef>

namespace locket::transport::model {

// What a shared word is for; mutants weaken accesses by it.
enum class Role { kOther, kRingBytes, kHead, kState, kWantedHead, kInterrupts, kStage };

// The defaults are the code as it ships.
struct Mutant {
  const char* name = "";
  // The thread that has the fault, counted from 1 in the order of AddThread(); 0: each one.
  size_t only_thread = 0;

  // Fences.
  bool sleeper_fence = true;
  bool waker_fence = true;

  // Release stores, or acquire loads, of the words of this role become relaxed.
  Role relaxed_stores = Role::kOther;
  Role relaxed_loads = Role::kOther;

  // The ring.
  bool line_stays_free = true;
  bool zeroes_at_commit = true;  // False: at the reservation.
  bool zeroes_before_publishing = true;
  bool publishes_each_head = true;  // False: every second one.

  // The waiting.
  bool changes_state_to_wake = true;
  bool wants_before_parking = true;  // False: the wanted head is stored once parked.
  bool looks_again_once_parked = true;
  bool own_doorbell = true;  // False: one for two readers.

  // Interrupts and ends.
  bool counts_interrupts = true;
  bool ends_before_it_counts = true;
  bool asks_stage_before_ring = true;
  bool reads_while_it_waits_for_room = true;
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_MUTANT_H_
