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
  bool zeroes_at_reservation = true;
  bool zeroes_behind_shortened = true;
  bool zeroes_before_publishing = true;
  bool publishes_each_head = true;  // False: every second one.

  // The waiting.
  bool changes_state_to_wake = true;
  bool changes_only_what_it_saw = true;  // False: the state to rung, whatever it is by then.
  bool wants_before_parking = true;      // False: the wanted head is stored once parked.
  bool looks_again_once_parked = true;
  bool own_doorbell = true;          // False: one for two readers.
  bool tells_where_it_parks = true;  // False: at the doorbell as on the futex.

  // The borders at which a reader looks whether a writer sleeps.
  bool looks_at_borders = true;
  bool looks_past_borders = true;  // False: only where the head is one.
  bool wants_border_above = true;  // False: the one below.
  bool wants_first_border = true;  // False: the one after it.

  // Several records with one look at the reader's state.
  bool looks_after_last_record = true;
  bool looks_without_room = true;
  bool looks_only_when_due = true;  // False: also when no record came since the last look.

  // Ends of one direction, and by will.
  bool ends_behind_last_record = true;
  bool looks_after_end = true;
  bool looks_after_reading = true;
  bool farewell_before_end = true;

  // Interrupts and ends.
  bool counts_interrupts = true;
  bool ends_before_it_counts = true;
  bool asks_stage_before_ring = true;
  bool reads_while_it_waits_for_room = true;
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_MUTANT_H_
