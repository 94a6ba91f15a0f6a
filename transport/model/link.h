// One direction of a connection in the model: the ring, the waiting protocol and the life that
// ship, joined as ShmConnection joins them, over the kernel of kernel.h.
#ifndef LOCKET_TRANSPORT_MODEL_LINK_H_
#define LOCKET_TRANSPORT_MODEL_LINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "locket/transport/internal/layout.h"
#include "locket/transport/internal/life.h"
#include "locket/transport/internal/ring.h"
#include "locket/transport/internal/wait_protocol.h"
#include "locket/transport/model/atomics.h"
#include "locket/transport/model/execution.h"
#include "locket/transport/model/kernel.h"

namespace locket::transport::model {

using internal::kParked;
using internal::Stage;

enum class Waited { kReady, kInterrupted, kEnded };

// How often an honest peer wakes a wait without what it waits for (kMaxVainWakes of ShmConnection).
inline constexpr int kHonestVainWakes = 3;

// The memory of one direction.
template <typename Atomics>
struct SharedRing {
  using Control = internal::BasicRingControl<Atomics>;

  SharedRing(Execution& run, const std::string& name, size_t ring_size)
      : size(ring_size), bytes(run.NewRing(ring_size)) {
    run.Name(&control.head, name + "head", Role::kHead);
    run.Name(&control.reader_state, name + "reader_state", Role::kState);
    run.Name(&control.writer_state, name + "writer_state", Role::kState);
    run.Name(&control.wanted_head, name + "wanted_head", Role::kWantedHead);
  }

  const size_t size;
  uint8_t* const bytes;
  Control control{};
};

// What one process knows of a connection.
template <typename Atomics>
class Side {
 public:
  Side(Execution& run, const std::string& name) : run_(run) {
    run.Name(&life_.interrupts_word(), name + "interrupts", Role::kInterrupts);
    // The stage is the other word of a Life.
    static_assert(sizeof(life_) == 2 * sizeof(life_.interrupts_word()));
    run.Name(&life_.interrupts_word() + 1, name + "stage", Role::kStage);
  }

  Execution& run() { return run_; }
  internal::BasicLife<Atomics>& life() { return life_; }

  void Interrupt() {
    life_.CountInterrupt();
    FutexWake(life_.interrupts_word(), kMaxThreads);
  }

  void End(Stage stage) {
    if (run_.mutant().ends_before_it_counts) life_.RaiseTo(stage);
    Interrupt();
    if (!run_.mutant().ends_before_it_counts) life_.RaiseTo(stage);
  }

  // ShmConnection::Wait(), without the spinning.
  template <typename State, typename Ready>
  Waited Wait(State& state, uint32_t interrupts, Ready ready) {
    Waited result = Waited::kReady;
    const auto done = [&] {
      if (ready()) return true;
      const bool interrupted = life_.interrupts() != interrupts;
      result = Waited::kEnded;
      if (life_.ended()) {
        if (ready()) result = Waited::kReady;
        return true;
      }
      result = interrupted ? Waited::kInterrupted : Waited::kReady;
      return interrupted;
    };
    int vain_wakes = 0;
    const auto sleep = [&] {
      const bool woken = FutexWaitTwo(state, kParked, life_.interrupts_word(), interrupts);
      if (woken && !ready()) {
        run_.Check(++vain_wakes <= kHonestVainWakes, "an honest peer wakes in vain too often");
      }
    };
    using Protocol = internal::BasicWaitProtocol<Atomics>;
    if (run_.mutant().looks_again_once_parked) {
      Protocol::SleepUntil(state, done, sleep);
    } else {
      while (!done()) {
        Protocol::Park(state, [] { return false; });
        sleep();
      }
      Protocol::Unpark(state);
    }
    return result;
  }

 private:
  Execution& run_;
  internal::BasicLife<Atomics> life_;
};

template <typename Atomics>
class WriterEnd {
 public:
  // `doorbell` wakes the reader; without one it sleeps on the futex.
  WriterEnd(Side<Atomics>& side, SharedRing<Atomics>& ring, Doorbell* doorbell)
      : side_(side),
        ring_(ring),
        doorbell_(doorbell),
        writer_(ring.bytes, ring.size, ring.control) {}

  uint8_t* TryReserve(size_t size) {
    uint8_t* const room = writer_.TryReserve(size);
    if (writer_.broken()) side_.run().Fail("the reader's head is impossible");
    if (room == nullptr && side_.run().mutant().looks_without_room) Flush();
    return room;
  }

  void CommitMore(size_t size) {
    side_.run().Committing(true);
    writer_.Commit(size);
    side_.run().Committing(false);
    look_due_ = true;
  }

  void Flush() {
    if (look_due_ || !side_.run().mutant().looks_only_when_due) WakeReader();
  }

  void Commit(size_t size) {
    CommitMore(size);
    WakeReader();
  }

  void CloseWrite() {
    writer_.CommitEnd();
    if (side_.run().mutant().looks_after_end) WakeReader();
  }

  bool ReadsNoMore() const { return writer_.ReadsNoMore(); }

  void WakeReader() {
    look_due_ = false;
    switch (internal::BasicWaitProtocol<Atomics>::TakeReader(ring_.control, doorbell_ != nullptr)) {
      case internal::kParked:
        return FutexWake(ring_.control.reader_state, 1);
      case internal::kParkedAtDoorbell:
        return doorbell_->Ring();
      default:
        return;
    }
  }

  // ShmConnection::WaitWritable().
  Waited WaitForRoom(size_t size, uint32_t interrupts) {
    const uint64_t part = ring_.size / Atomics::kWakeParts;
    uint64_t wanted = writer_.NextWake(writer_.RoomAt(size));
    if (!side_.run().mutant().wants_border_above) wanted = writer_.RoomAt(size) & ~(part - 1);
    if (!side_.run().mutant().wants_first_border) wanted += part;
    internal::BasicWaitProtocol<Atomics>::WantHead(ring_.control, wanted);
    return side_.Wait(ring_.control.writer_state, interrupts,
                      [&] { return !side_.life().ended() && writer_.ReaderReached(wanted); });
  }

  // ---- As a caller uses it

  // A record with `value` in each of its lines, if there is room.
  bool TrySend(uint64_t value, size_t size = sizeof(uint64_t)) {
    if (!TrySendMore(value, size)) return false;
    WakeReader();
    return true;
  }

  // The same, and waits for room; false once the connection has ended, or the reader reads no more.
  bool Send(uint64_t value) {
    if (!SendMore(value)) return false;
    WakeReader();
    return true;
  }

  // As Send(), but others follow, or Flush().
  bool SendMore(uint64_t value) {
    for (;;) {
      const uint32_t interrupts = side_.life().interrupts();
      if (TrySendMore(value, sizeof(value))) return true;
      if (ReadsNoMore()) return false;
      if (WaitForRoom(sizeof(value), interrupts) == Waited::kEnded) return false;
    }
  }

 private:
  bool TrySendMore(uint64_t value, size_t size) {
    uint8_t* const room = TryReserve(size);
    if (room == nullptr) return false;
    for (size_t at = 0; at < size; at += internal::kLine) side_.run().Write(room + at, value);
    CommitMore(size);
    return true;
  }

  Side<Atomics>& side_;
  SharedRing<Atomics>& ring_;
  Doorbell* const doorbell_;
  internal::BasicRingWriter<Atomics> writer_;
  bool look_due_ = false;
};

template <typename Atomics>
class ReaderEnd {
 public:
  using Reader = internal::BasicRingReader<Atomics>;
  enum class Received { kRecord, kEmpty, kEnd };

  // `doorbell` is what it sleeps on; without one it sleeps on the futex.
  ReaderEnd(Side<Atomics>& side, SharedRing<Atomics>& ring, Doorbell* doorbell)
      : side_(side),
        ring_(ring),
        doorbell_(doorbell),
        reader_(ring.bytes, ring.size, ring.control) {}

  // ShmConnection::TryReceive(); a record must have one value in all its lines.
  Received TryReceive(uint64_t* value) {
    Stage stage = Stage::kOpen;
    if (side_.run().mutant().asks_stage_before_ring) stage = side_.life().stage();
    if (stage == Stage::kClosed) return Received::kEnd;
    const uint8_t* data = nullptr;
    size_t size = 0;
    const auto peeked = reader_.Peek(&data, &size);
    if (peeked == Reader::Peeked::kBroken) side_.run().Fail("a word that is none of a record");
    if (peeked == Reader::Peeked::kEnd) return Received::kEnd;
    if (!side_.run().mutant().asks_stage_before_ring) stage = side_.life().stage();
    if (peeked == Reader::Peeked::kNone) {
      return stage == Stage::kOpen ? Received::kEmpty : Received::kEnd;
    }
    *value = side_.run().Read(data);
    for (size_t at = internal::kLine; at < size; at += internal::kLine) {
      side_.run().Check(side_.run().Read(data + at) == *value, "a torn record");
    }
    return Received::kRecord;
  }

  void Release() {
    const Mutant& mutant = side_.run().mutant();
    bool at_border = reader_.Release();
    if (!mutant.looks_at_borders) at_border = false;
    if (!mutant.looks_past_borders) {
      at_border = reader_.head() % (ring_.size / Atomics::kWakeParts) == 0;
    }
    if (at_border) WakeWriter(reader_.head());
  }

  void CloseRead() {
    const uint64_t head = reader_.EndReading();
    if (side_.run().mutant().looks_after_reading) WakeWriter(head);
  }

  void WakeWriter(uint64_t head) {
    if (internal::BasicWaitProtocol<Atomics>::TakeWriter(ring_.control, head)) {
      FutexWake(ring_.control.writer_state, 1);
    }
  }

  // From now on it sleeps at the doorbell, or on the futex.
  void SleepAt(Doorbell* doorbell) { doorbell_ = doorbell; }

  // ShmConnection::WaitReadable() or, with a doorbell, what EpollWaitSet does.
  Waited WaitForRecord(uint32_t interrupts) {
    auto& state = ring_.control.reader_state;
    if (doorbell_ == nullptr) {
      return side_.Wait(state, interrupts, [this] { return reader_.Ready(); });
    }
    const bool looks = side_.run().mutant().looks_again_once_parked;
    using Protocol = internal::BasicWaitProtocol<Atomics>;
    while (!Readable()) {
      if (!Protocol::Park(
              state, [&] { return looks && Readable(); },
              side_.run().mutant().tells_where_it_parks ? internal::kParkedAtDoorbell : kParked)) {
        break;
      }
      doorbell_->Wait();
      Protocol::Unpark(state);
    }
    return Waited::kReady;
  }

  // ---- As a caller uses it

  // The next record, if there is one: it must hold `expected`.
  Received Poll(uint64_t expected) {
    uint64_t value;
    const Received received = TryReceive(&value);
    if (received != Received::kRecord) return received;
    side_.run().Check(value == expected, "a record lost, repeated or out of order");
    Release();
    return received;
  }
  bool PollFor(uint64_t expected) { return Poll(expected) == Received::kRecord; }

  // The same, and waits for it; false once the connection has ended.
  bool Expect(uint64_t expected) {
    for (;;) {
      const uint32_t interrupts = side_.life().interrupts();
      const Received received = Poll(expected);
      if (received != Received::kEmpty) return received == Received::kRecord;
      WaitForRecord(interrupts);
    }
  }

 private:
  bool Readable() const { return reader_.Ready() || side_.life().ended(); }

  Side<Atomics>& side_;
  SharedRing<Atomics>& ring_;
  Doorbell* doorbell_;
  Reader reader_;
};

// Both ends in two processes.
template <typename Atomics>
struct Link {
  Link(Execution& run, const std::string& name, size_t ring_size, Doorbell* doorbell = nullptr)
      : ring(run, name, ring_size),
        writers_side(run, name + "writer's "),
        readers_side(run, name + "reader's "),
        writer(writers_side, ring, doorbell),
        reader(readers_side, ring, doorbell) {}

  SharedRing<Atomics> ring;
  Side<Atomics> writers_side;
  Side<Atomics> readers_side;
  WriterEnd<Atomics> writer;
  ReaderEnd<Atomics> reader;
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_LINK_H_
