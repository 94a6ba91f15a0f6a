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
    const auto sleep = [&] { FutexWaitTwo(state, kParked, life_.interrupts_word(), interrupts); };
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
    if (room != nullptr && !side_.run().mutant().zeroes_at_commit) {
      // The mutant: the word behind the largest record that the reservation may become.
      internal::CommitWordAt<Atomics>(ring_.bytes, ring_.size - 1,
                                      static_cast<uint64_t>(room - ring_.bytes) -
                                          internal::kRecordHeaderSize +
                                          internal::RecordLength(size))
          .exchange(0, std::memory_order_relaxed);
    }
    return room;
  }

  void Commit(size_t size) {
    writer_.Commit(size);
    if (!internal::BasicWaitProtocol<Atomics>::TakeReader(ring_.control)) return;
    if (doorbell_ != nullptr) {
      doorbell_->Ring();
    } else {
      FutexWake(ring_.control.reader_state, 1);
    }
  }

  // ShmConnection::WaitWritable().
  Waited WaitForRoom(size_t size, uint32_t interrupts) {
    const uint64_t wanted = writer_.RoomAt(size);
    internal::BasicWaitProtocol<Atomics>::WantHead(ring_.control, wanted);
    return side_.Wait(ring_.control.writer_state, interrupts,
                      [&] { return !side_.life().ended() && writer_.ReaderReached(wanted); });
  }

  // ---- As a caller uses it

  // A record of one word, if there is room.
  bool TrySend(uint64_t value) {
    uint8_t* const room = TryReserve(sizeof(value));
    if (room == nullptr) return false;
    side_.run().Write(room, value);
    Commit(sizeof(value));
    return true;
  }

  // The same, and waits for room; false once the connection has ended.
  bool Send(uint64_t value) {
    for (;;) {
      const uint32_t interrupts = side_.life().interrupts();
      if (TrySend(value)) return true;
      if (WaitForRoom(sizeof(value), interrupts) == Waited::kEnded) return false;
    }
  }

 private:
  Side<Atomics>& side_;
  SharedRing<Atomics>& ring_;
  Doorbell* const doorbell_;
  internal::BasicRingWriter<Atomics> writer_;
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

  // ShmConnection::TryReceive(); a record must be one word.
  Received TryReceive(uint64_t* value) {
    Stage stage = Stage::kOpen;
    if (side_.run().mutant().asks_stage_before_ring) stage = side_.life().stage();
    if (stage == Stage::kClosed) return Received::kEnd;
    const uint8_t* data;
    size_t size;
    const auto peeked = reader_.Peek(&data, &size);
    if (peeked == Reader::Peeked::kBroken) side_.run().Fail("a word that is none of a record");
    if (!side_.run().mutant().asks_stage_before_ring) stage = side_.life().stage();
    if (peeked == Reader::Peeked::kNone) {
      return stage == Stage::kOpen ? Received::kEmpty : Received::kEnd;
    }
    side_.run().Check(size == sizeof(*value), "a record of another size");
    *value = side_.run().Read(data);
    return Received::kRecord;
  }

  void Release() {
    if (internal::BasicWaitProtocol<Atomics>::TakeWriter(ring_.control, reader_.Release())) {
      FutexWake(ring_.control.writer_state, 1);
    }
  }

  // ShmConnection::WaitReadable() or, with a doorbell, what EpollWaitSet does.
  Waited WaitForRecord(uint32_t interrupts) {
    auto& state = ring_.control.reader_state;
    if (doorbell_ == nullptr) {
      return side_.Wait(state, interrupts, [this] { return reader_.Ready(); });
    }
    const bool looks = side_.run().mutant().looks_again_once_parked;
    using Protocol = internal::BasicWaitProtocol<Atomics>;
    while (!Readable()) {
      if (!Protocol::Park(state, [&] { return looks && Readable(); })) break;
      doorbell_->Wait();
      Protocol::Unpark(state);
    }
    return Waited::kReady;
  }

  // ---- As a caller uses it

  // The next record's word, which must be `expected`.
  bool PollFor(uint64_t expected) {
    uint64_t value;
    if (TryReceive(&value) != Received::kRecord) return false;
    side_.run().Check(value == expected, "a record lost, repeated or out of order");
    Release();
    return true;
  }

  // The same, and waits for it; false once the connection has ended.
  bool Expect(uint64_t expected) {
    for (;;) {
      const uint32_t interrupts = side_.life().interrupts();
      if (PollFor(expected)) return true;
      if (side_.life().ended()) return PollFor(expected);
      WaitForRecord(interrupts);
    }
  }

 private:
  bool Readable() const { return reader_.Ready() || side_.life().ended(); }

  Side<Atomics>& side_;
  SharedRing<Atomics>& ring_;
  Doorbell* const doorbell_;
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
