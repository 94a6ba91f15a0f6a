#include "locket/transport/model/scenarios.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "locket/transport/internal/layout.h"
#include "locket/transport/internal/life.h"
#include "locket/transport/model/atomics.h"
#include "locket/transport/model/execution.h"
#include "locket/transport/model/kernel.h"
#include "locket/transport/model/link.h"
#include "locket/transport/model/mutant.h"

namespace locket::transport::model {
namespace {

// Rings by the number of one-line records that they hold: one line stays free.
constexpr size_t kHoldsOne = 128;
constexpr size_t kHoldsThree = 256;
constexpr size_t kHoldsSeven = 512;

// The size of a record of two lines.
constexpr size_t kTwoLines = 2 * internal::kLine - internal::kRecordHeaderSize;

// The payload of the i-th record.
constexpr uint64_t Word(int i) { return 100 + static_cast<uint64_t>(i); }

template <typename Atomics>
void ExpectAll(Link<Atomics>& link, int records) {
  for (int i = 0; i < records; ++i) link.reader.Expect(Word(i));
}

// One thread sends, one receives and sleeps where it must wait.
template <typename Atomics>
void SenderAndReceiver(Execution& run, int records, Doorbell* doorbell) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree, doorbell);
  run.AddThread("writer", [&link, records] {
    for (int i = 0; i < records; ++i) link.writer.Send(Word(i));
  });
  run.AddThread("reader", [&link, records] { ExpectAll(link, records); });
}

// ---- The ring alone: nobody sleeps, who finds nothing looks again a few times.

template <typename Atomics>
void OneRecord(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size; ++i) link.writer.TrySend(Word(i));
  });
  run.AddThread("reader", [&link, size] {
    for (int looks = 0, got = 0; looks < size + 1; ++looks) got += link.reader.PollFor(Word(got));
  });
}

// The ring is full, of a record of two lines and five of one. Once the first is released the writer
// has room for one of two lines, which goes round the ring's end, to where that one was.
template <typename Atomics>
void RoundTheEnd(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsSeven);
  link.writer.TrySend(Word(0), kTwoLines);
  for (int i = 1; i <= 5; ++i) link.writer.TrySend(Word(i));
  run.AddThread("writer", [&link, size] {
    for (int looks = 0, sent = 0; looks < size; ++looks) {
      sent += link.writer.TrySend(Word(6 + sent), kTwoLines);
    }
  });
  run.AddThread("reader", [&link, size] {
    for (int i = 0; i < 2 * size - 1; ++i) link.reader.PollFor(Word(i));
  });
}

// The record is smaller than the reservation, both of whose lines were written; then comes another.
template <typename Atomics>
void ShrinkingCommit(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsSeven);
  run.AddThread("writer", [&run, &link, size] {
    for (int i = 0; i < size; ++i) {
      uint8_t* const room = link.writer.TryReserve(kTwoLines);
      run.Write(room, Word(2 * i));
      // Where the reader looks for the next record: what a remote user wants it to take for one.
      run.Write(room + internal::kLine - internal::kRecordHeaderSize, internal::CommitWord(8));
      link.writer.Commit(sizeof(uint64_t));
      link.writer.TrySend(Word(2 * i + 1));
    }
  });
  run.AddThread("reader", [&link, size] {
    for (int looks = 0, got = 0; looks < 2 * size + 1; ++looks) {
      got += link.reader.PollFor(Word(got));
    }
  });
}

// Both lines of a reservation were written; then it is given up for one of a line.
template <typename Atomics>
void SmallerReservation(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsSeven);
  run.AddThread("writer", [&run, &link, size] {
    for (int i = 0; i < size; ++i) {
      uint8_t* const room = link.writer.TryReserve(kTwoLines);
      run.Write(room + internal::kLine - internal::kRecordHeaderSize, internal::CommitWord(8));
      link.writer.TrySend(Word(i));
    }
  });
  run.AddThread("reader", [&link, size] {
    for (int looks = 0, got = 0; looks < size + 1; ++looks) got += link.reader.PollFor(Word(got));
  });
}

// Where the writer goes lie the records of the lap before.
template <typename Atomics>
void LapLater(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  constexpr int kBefore = 3;
  for (int i = 0; i < kBefore; ++i) {
    link.writer.TrySend(Word(i));
    link.reader.PollFor(Word(i));
  }
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size; ++i) link.writer.TrySend(Word(kBefore + i));
  });
  run.AddThread("reader", [&link, size] {
    for (int looks = 0, got = kBefore; looks < size + 1; ++looks) {
      got += link.reader.PollFor(Word(got));
    }
  });
}

// ---- Waiting

// The ring is full from the start.
template <typename Atomics>
void FullRing(Execution& run, size_t ring, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", ring);
  int full = 0;
  while (link.writer.TrySend(Word(full))) ++full;
  run.AddThread("writer", [&link, size, full] {
    for (int i = 0; i < size; ++i) link.writer.Send(Word(full + i));
  });
  run.AddThread("reader", [&link, size, full] { ExpectAll(link, full + size); });
}

template <typename Atomics>
void FilledToTheLimit(Execution& run, int size) {
  FullRing<Atomics>(run, kHoldsThree, size);
}

template <typename Atomics>
void WriterWaitsForRoom(Execution& run, int size) {
  run.AllowSpuriousWakes(1);
  FullRing<Atomics>(run, kHoldsOne, size);
}

template <typename Atomics>
void ReaderSleeps(Execution& run, int size) {
  run.AllowSpuriousWakes(1);
  SenderAndReceiver<Atomics>(run, size + 1, nullptr);
}

template <typename Atomics>
void ReaderParks(Execution& run, int size) {
  run.AllowSpuriousWakes(1);
  SenderAndReceiver<Atomics>(run, size + 1, &run.New<Doorbell>(run));
}

// The ring is full, its border in the middle of a record: the head never comes to it, but past it.
template <typename Atomics>
void PastABorder(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsSeven);
  link.writer.TrySend(Word(0));
  constexpr int kFull = 4;
  for (int i = 1; i < kFull; ++i) link.writer.TrySend(Word(i), kTwoLines);
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size; ++i) link.writer.Send(Word(kFull + i));
  });
  run.AddThread("reader", [&link, size] { ExpectAll(link, kFull + size); });
}

// Waits for two lines are interrupted; the one for one line that follows must end when one is free.
// The head lies such that the one line is free at a border, and two at the border after it.
template <typename Atomics>
void WaitForLess(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsSeven);
  constexpr int kBefore = 3;
  constexpr int kFull = kBefore + 7;
  for (int i = 0; i < kBefore; ++i) {
    link.writer.TrySend(Word(i));
    link.reader.PollFor(Word(i));
  }
  for (int i = kBefore; i < kFull; ++i) link.writer.TrySend(Word(i));
  run.AddThread("writer", [&run, &link, size] {
    for (int i = 0; i < size; ++i) {
      const uint32_t interrupts = link.writers_side.life().interrupts();
      link.writers_side.Interrupt();
      run.Check(link.writer.WaitForRoom(kTwoLines, interrupts) == Waited::kInterrupted,
                "was room for two");
    }
    link.writer.Send(Word(kFull));
  });
  run.AddThread("reader", [&link] { link.reader.PollFor(Word(kBefore)); });
}

// Records with one look at the reader's state, behind the last of them.
template <typename Atomics>
void SeveralRecords(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size; ++i) link.writer.SendMore(Word(i));
    link.writer.SendMore(Word(size));
    if (link.writers_side.run().mutant().looks_after_last_record) link.writer.Flush();
  });
  run.AddThread("reader", [&link, size] { ExpectAll(link, size + 1); });
}

// The same, and they are more than the ring holds.
template <typename Atomics>
void MoreThanTheRingHolds(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsOne);
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size + 1; ++i) link.writer.SendMore(Word(i));
    if (link.writers_side.run().mutant().looks_after_last_record) link.writer.Flush();
  });
  run.AddThread("reader", [&link, size] { ExpectAll(link, size + 1); });
}

// Flushes with nothing to flush must not look like a peer's that wakes the reader to no purpose.
template <typename Atomics>
void EmptyFlushes(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size; ++i) {
      for (int flush = 0; flush <= kHonestVainWakes; ++flush) link.writer.Flush();
      link.writer.SendMore(Word(i));
      link.writer.Flush();
    }
  });
  run.AddThread("reader", [&link, size] { ExpectAll(link, size); });
}

// A wait on the futex is interrupted; then the reader sleeps at the doorbell, then on the futex...
template <typename Atomics>
void FutexAndDoorbell(Execution& run, int size) {
  auto& bell = run.New<Doorbell>(run);
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree, &bell);
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size + 1; ++i) link.writer.Send(Word(i));
  });
  run.AddThread("reader", [&link, &bell, size] {
    const uint32_t interrupts = link.readers_side.life().interrupts();
    link.readers_side.Interrupt();
    link.reader.SleepAt(nullptr);
    link.reader.WaitForRecord(interrupts);
    for (int i = 0; i < size + 1; ++i) {
      link.reader.SleepAt(i % 2 == 0 ? &bell : nullptr);
      link.reader.Expect(Word(i));
    }
  });
}

// A client's writer and reader, and a server which takes the next request once its answer has room.
// One ring is full of requests and the other of answers from the start.
template <typename Atomics>
void BothRingsFull(Execution& run, int size) {
  auto& requests = run.New<Link<Atomics>>(run, "requests' ", kHoldsOne);
  auto& answers = run.New<Link<Atomics>>(run, "answers' ", kHoldsOne);
  requests.writer.TrySend(Word(0));
  answers.writer.TrySend(Word(0));
  const bool apart = run.mutant().reads_while_it_waits_for_room;
  run.AddThread("client's writer", [&requests, &answers, size, apart] {
    for (int i = 1; i <= size; ++i) requests.writer.Send(Word(i));
    if (!apart) ExpectAll(answers, size + 1);
  });
  run.AddThread("server", [&requests, &answers, size] {
    for (int i = 0; i < size; ++i) {
      answers.writer.Send(Word(i + 1));
      requests.reader.Expect(Word(i));
    }
  });
  if (apart) {
    run.AddThread("client's reader", [&answers, size] { ExpectAll(answers, size); });
  }
}

// Two connections of one process, a thread for each.
template <typename Atomics>
void TwoDoorbells(Execution& run, int size) {
  auto& bell = run.New<Doorbell>(run);
  auto* const other_bell = run.mutant().own_doorbell ? &run.New<Doorbell>(run) : &bell;
  auto& link = run.New<Link<Atomics>>(run, "first ", kHoldsThree, &bell);
  auto& other = run.New<Link<Atomics>>(run, "second ", kHoldsThree, other_bell);
  run.AddThread("first reader", [&link, size] { ExpectAll(link, size); });
  run.AddThread("second reader", [&other, size] { ExpectAll(other, size); });
  run.AddThread("writer", [&link, &other, size] {
    for (int i = 0; i < size; ++i) {
      link.writer.Send(Word(i));
      other.writer.Send(Word(i));
    }
  });
}

// ---- Interrupts and ends

struct Flag {
  uint64_t word = 0;
};

template <typename Atomics>
void Interrupt(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  auto& flag = run.New<Flag>();
  run.Name(&flag.word, "flag", Role::kOther);
  run.AddThread("interrupter", [&run, &link, &flag, size] {
    run.Write(&flag.word, 1);
    for (int i = 0; i < size; ++i) link.readers_side.Interrupt();
  });
  run.AddThread("reader", [&run, &link, &flag] {
    const uint32_t interrupts = link.readers_side.life().interrupts();
    if (interrupts == 0) link.reader.WaitForRecord(interrupts);
    // Who was interrupted sees why.
    run.Check(link.readers_side.life().interrupts() != 0, "a wait ended for nothing");
    run.Check(run.Read(&flag.word) == 1, "an interrupt without what it tells of");
  });
}

template <typename Atomics>
void CloseSleepingReader(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  run.AddThread("reader", [&link] {
    for (int i = 0; link.reader.Expect(Word(i)); ++i) {
    }
  });
  run.AddThread("closer", [&link] { link.readers_side.End(Stage::kClosed); });
  run.AddThread("writer", [&link, size] {
    for (int i = 1; i < size; ++i) link.writer.TrySend(Word(i - 1));
  });
}

// An end comes to a WaitSet through its own waker, which is in the same epoll.
template <typename Atomics>
void CloseParkedReader(Execution& run, int size) {
  auto& bell = run.New<Doorbell>(run);
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree, &bell);
  run.AddThread("reader", [&link] {
    for (int i = 0; link.reader.Expect(Word(i)); ++i) {
    }
  });
  run.AddThread("closer", [&run, &link, &bell] {
    if (!run.mutant().ends_before_it_counts) bell.Ring();
    link.readers_side.End(Stage::kClosed);
    if (run.mutant().ends_before_it_counts) bell.Ring();
  });
  run.AddThread("writer", [&link, size] {
    for (int i = 0; i < size; ++i) link.writer.TrySend(Word(i));
  });
}

template <typename Atomics>
void CloseWaitingWriter(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsOne);
  run.AddThread("writer", [&link] {
    for (int i = 0; link.writer.Send(Word(i)); ++i) {
    }
  });
  run.AddThread("closer", [&link] { link.writers_side.End(Stage::kClosed); });
  run.AddThread("reader", [&link, size] {
    for (int looks = 0, got = 0; looks < size; ++looks) got += link.reader.PollFor(Word(got));
  });
}

// The peer commits and dies; the watch hears of it; all that was committed must be delivered.
template <typename Atomics>
void PeerDies(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  auto& end = run.New<ProcessEnd>(run);
  run.AddThread("dying writer", [&link, &end, size] {
    for (int i = 0; i < size; ++i) link.writer.TrySend(Word(i));
    end.Happen();
  });
  run.AddThread("watch", [&link, &end] {
    end.Wait();
    link.readers_side.End(Stage::kPeerGone);
  });
  run.AddThread("reader", [&run, &link, size] {
    int got = 0;
    while (link.reader.Expect(Word(got))) ++got;
    run.Check(got == size, "a record was lost at its writer's end");
  });
}

// One direction ends behind its last record; one look at the reader's state is for all of them.
template <typename Atomics>
void OneDirectionEnds(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  run.AddThread("writer", [&run, &link, size] {
    for (int i = 0; i < size; ++i) link.writer.SendMore(Word(i));
    if (!run.mutant().ends_behind_last_record) link.writer.CloseWrite();
    link.writer.SendMore(Word(size));
    if (run.mutant().ends_behind_last_record) link.writer.CloseWrite();
  });
  run.AddThread("reader", [&run, &link, size] {
    int got = 0;
    while (link.reader.Expect(Word(got))) ++got;
    run.Check(got == size + 1, "an end before the last record");
  });
}

// The ring is full; the reader takes some records, none of them up to a border, and reads no more.
template <typename Atomics>
void ReadsNoMore(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  int full = 0;
  while (link.writer.TrySend(Word(full))) ++full;
  run.AddThread("writer", [&link, full] {
    for (int i = full; link.writer.Send(Word(i)); ++i) {
    }
  });
  run.AddThread("reader", [&link, size] {
    ExpectAll(link, size);
    link.reader.CloseRead();
  });
}

// A process says farewell, and ends: who sees the end sees that it was its will.
template <typename Atomics>
void Farewell(Execution& run, int size) {
  auto& link = run.New<Link<Atomics>>(run, "", kHoldsThree);
  auto& end = run.New<ProcessEnd>(run);
  auto& farewell = run.New<typename Atomics::template Atomic<uint32_t>>(0);
  run.Name(&farewell, "farewell", Role::kOther);
  run.AddThread("leaving writer", [&run, &link, &end, &farewell, size] {
    for (int i = 1; i < size; ++i) link.writer.TrySend(Word(i - 1));
    const auto say = [&farewell] { farewell.store(1, std::memory_order_release); };
    if (run.mutant().farewell_before_end) say();
    end.Happen();
    if (!run.mutant().farewell_before_end) say();
  });
  run.AddThread("watch", [&link, &end] {
    end.Wait();
    link.readers_side.End(Stage::kPeerGone);
  });
  run.AddThread("reader", [&run, &link, &farewell] {
    for (int i = 0; link.reader.Expect(Word(i)); ++i) {
    }
    run.Check(farewell.load(std::memory_order_acquire) == 1, "an end by will taken for a death");
  });
}

// ---- The list

using Build = void (*)(Execution&, int size);

// The same body over the code as it ships and over the mutant that only the compiler can make.
struct Bodies {
  Build shipped;
  Build without_free_line;
};

// NOLINTBEGIN(bugprone-macro-parentheses): a template's name stands in none.
#define LOCKET_BODIES(name) \
  Bodies { &name<ModelAtomics<1>>, &name<ModelAtomics<0>> }
// NOLINTEND(bugprone-macro-parentheses)

Scenario Make(std::string name, Bodies bodies, int size, bool sleeps, std::vector<Mutant> mutants) {
  return {std::move(name),
          [bodies, size](Execution& run) {
            (run.mutant().line_stays_free ? bodies.shipped : bodies.without_free_line)(run, size);
          },
          sleeps, std::move(mutants)};
}

}  // namespace

std::vector<Scenario> Scenarios(int size) {
  constexpr bool kNobodySleeps = false;
  constexpr bool kSomebodySleeps = true;
  const Mutant no_sleeper_fence = {.name = "no fence of the sleeper", .sleeper_fence = false};
  const Mutant no_waker_fence = {.name = "no fence of the waker", .waker_fence = false};
  const Mutant no_second_look = {.name = "asleep without a second look",
                                 .looks_again_once_parked = false};
  const Mutant state_unchanged = {.name = "woken without a change of the state",
                                  .changes_state_to_wake = false};
  const Mutant end_after_wake = {.name = "woken before the end is stored",
                                 .ends_before_it_counts = false};
  const Mutant not_zeroed = {.name = "not zeroed at the reservation",
                             .zeroes_at_reservation = false};
  const Mutant zeroed_late = {.name = "zeroed after [publish]", .zeroes_before_publishing = false};
  const Mutant no_last_look = {.name = "no look behind the last record",
                               .looks_after_last_record = false};
  const auto by = [](Mutant mutant, size_t thread) {
    mutant.only_thread = thread;
    return mutant;
  };
  constexpr size_t kWriter = 1;
  constexpr size_t kReader = 2;
  return {
      Make("one record", LOCKET_BODIES(OneRecord), size, kNobodySleeps,
           {{.name = "[publish] relaxed", .relaxed_stores = Role::kRingBytes},
            {.name = "[publish]'s acquire relaxed", .relaxed_loads = Role::kRingBytes}}),
      Make("round the ring's end", LOCKET_BODIES(RoundTheEnd), size, kNobodySleeps,
           {{.name = "[release] relaxed", .relaxed_stores = Role::kHead},
            {.name = "[release]'s acquire relaxed", .relaxed_loads = Role::kHead}}),
      Make("a commit that shrinks", LOCKET_BODIES(ShrinkingCommit), size, kNobodySleeps,
           {{.name = "zeroed at the reservation alone", .zeroes_behind_shortened = false},
            zeroed_late}),
      Make("a smaller reservation", LOCKET_BODIES(SmallerReservation), size, kNobodySleeps,
           {not_zeroed, zeroed_late}),
      Make("a lap later", LOCKET_BODIES(LapLater), size, kNobodySleeps, {not_zeroed, zeroed_late}),
      Make("filled to the limit", LOCKET_BODIES(FilledToTheLimit), size, kSomebodySleeps,
           {{.name = "filled exactly, no line free", .line_stays_free = false}}),
      Make("reader sleeps on the futex", LOCKET_BODIES(ReaderSleeps), size, kSomebodySleeps,
           {by(no_sleeper_fence, kReader), by(no_waker_fence, kWriter), no_second_look,
            by(state_unchanged, kWriter)}),
      Make("reader parks at the doorbell", LOCKET_BODIES(ReaderParks), size, kSomebodySleeps,
           {by(no_sleeper_fence, kReader), by(no_waker_fence, kWriter), no_second_look}),
      Make("writer waits for room", LOCKET_BODIES(WriterWaitsForRoom), size, kSomebodySleeps,
           {by(no_sleeper_fence, kWriter),
            by(no_waker_fence, kReader),
            no_second_look,
            by(state_unchanged, kReader),
            {.name = "asleep with a head unpublished", .publishes_each_head = false}}),
      Make("past a border", LOCKET_BODIES(PastABorder), size, kSomebodySleeps,
           {by(no_sleeper_fence, kWriter),
            by(no_waker_fence, kReader),
            {.name = "no look at borders", .looks_at_borders = false},
            {.name = "no look past a border", .looks_past_borders = false},
            {.name = "wants the border below", .wants_border_above = false},
            {.name = "wants the border after the first", .wants_first_border = false}}),
      Make("a wait for less room than before", LOCKET_BODIES(WaitForLess), size, kSomebodySleeps,
           {{.name = "the wanted head stored once parked", .wants_before_parking = false}}),
      Make("several records", LOCKET_BODIES(SeveralRecords), size, kSomebodySleeps,
           {by(no_sleeper_fence, kReader), by(no_waker_fence, kWriter), no_last_look}),
      Make("empty flushes", LOCKET_BODIES(EmptyFlushes), size, kSomebodySleeps,
           {{.name = "a look without a record", .looks_only_when_due = false}}),
      Make("more than the ring holds", LOCKET_BODIES(MoreThanTheRingHolds), size, kSomebodySleeps,
           {no_last_look, {.name = "no look without room", .looks_without_room = false}}),
      Make("now the futex, now the doorbell", LOCKET_BODIES(FutexAndDoorbell), size,
           kSomebodySleeps,
           {by(no_sleeper_fence, kReader),
            by(no_waker_fence, kWriter),
            {.name = "parked at the doorbell as on the futex", .tells_where_it_parks = false},
            {.name = "rung where it slept before", .changes_only_what_it_saw = false}}),
      Make("both rings full", LOCKET_BODIES(BothRingsFull), size, kSomebodySleeps,
           {{.name = "a reader that waits for room", .reads_while_it_waits_for_room = false}}),
      Make("two doorbells", LOCKET_BODIES(TwoDoorbells), size, kSomebodySleeps,
           {{.name = "a doorbell shared by two readers", .own_doorbell = false}}),
      Make("an interrupt", LOCKET_BODIES(Interrupt), size, kSomebodySleeps,
           {{.name = "woken without a count", .counts_interrupts = false},
            {.name = "the count's release relaxed", .relaxed_stores = Role::kInterrupts},
            {.name = "the count's acquire relaxed", .relaxed_loads = Role::kInterrupts}}),
      Make("a sleeping reader's connection closes", LOCKET_BODIES(CloseSleepingReader), size,
           kSomebodySleeps, {end_after_wake}),
      Make("a parked reader's connection closes", LOCKET_BODIES(CloseParkedReader), size,
           kSomebodySleeps, {end_after_wake}),
      Make("a waiting writer's connection closes", LOCKET_BODIES(CloseWaitingWriter), size,
           kSomebodySleeps, {end_after_wake}),
      Make("the peer dies", LOCKET_BODIES(PeerDies), size, kSomebodySleeps,
           {{.name = "the stage's release relaxed", .relaxed_stores = Role::kStage},
            {.name = "the stage's acquire relaxed", .relaxed_loads = Role::kStage},
            {.name = "the ring asked before the stage", .asks_stage_before_ring = false}}),
      Make("one direction ends", LOCKET_BODIES(OneDirectionEnds), size, kSomebodySleeps,
           {by(no_waker_fence, kWriter),
            {.name = "the end before the last record", .ends_behind_last_record = false},
            {.name = "an end without a look", .looks_after_end = false}}),
      Make("the reader reads no more", LOCKET_BODIES(ReadsNoMore), size, kSomebodySleeps,
           {by(no_sleeper_fence, kWriter),
            by(no_waker_fence, kReader),
            {.name = "no look once it reads no more", .looks_after_reading = false}}),
      Make("a farewell", LOCKET_BODIES(Farewell), size, kSomebodySleeps,
           {{.name = "the farewell after the end", .farewell_before_end = false}}),
  };
}

}  // namespace locket::transport::model
