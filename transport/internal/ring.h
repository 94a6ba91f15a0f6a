// The ring: records from one writer to one reader, in memory that both map twice in a row.
//
// Nothing here waits or enters the kernel; shm_connection.h adds that. FORMAT.md has the bytes.
//
// Positions are 64-bit byte counts that only grow, so they never wrap; position p lies at p modulo
// the ring's size. A record's header is always addressed in the lower mapping; its payload may run
// on into the upper one, so that every record is one contiguous span.
//
// Thread safety: one thread at a time uses a RingWriter, one a RingReader.
//
// `Atomics` is StdAtomics, or what the model check puts in its place.
//
// Invariants, with T the writer's tail, H the reader's head, R the ring's size:
//   (1) The commit word at T is 0. The segment starts zeroed, and the word at the new T is zeroed
//       before Commit() publishes the record in front of it: by TryReserve(), where the record will
//       end if it is not shortened, and by Commit() again, if it was. SUBTLE: zeroing at
//       TryReserve() alone would leave old payload where a shortened record ends, which a remote
//       user may have chosen to look like a record. Zeroing at Commit() alone would be enough. That
//       the line, a lap old, is fetched before the payload goes into the line which the reader
//       polls is meant to save a transfer of the latter; it was measured along with other changes
//       only.
//   (2) T - H <= R - 64: one line stays free, so that the word which (1) zeroes is never the header
//       of a record that the reader has not released (with T - H = R it would be the oldest one's).
//   (3) Between H and T lie whole records, each with a non-zero commit word.
//   (4) After CommitEnd() the word at T is kEndWord for ever, and T moves no more: by (2) its line
//       is free. After EndReading() the head is kReadsNoMore for ever.
//
// Pairs:
//   [publish] Commit() release-stores the commit word; Peek() loads it with acquire: whoever sees
//             the word sees the payload and the zero behind it.
//   [release] Release() release-stores the head; LoadHead() loads it with acquire: the writer uses
//             bytes again only after the reader's last read of them.
#ifndef LOCKET_TRANSPORT_INTERNAL_RING_H_
#define LOCKET_TRANSPORT_INTERNAL_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "locket/transport/internal/atomics.h"
#include "locket/transport/internal/layout.h"

namespace locket::transport::internal {

// The commit word at `position`.
template <typename Atomics>
typename Atomics::template Atomic<uint64_t>& CommitWordAt(uint8_t* ring, size_t mask,
                                                          uint64_t position) {
  using Word = typename Atomics::template Atomic<uint64_t>;
  return *std::launder(reinterpret_cast<Word*>(ring + (position & mask)));
}

template <typename Atomics>
class BasicRingWriter {
 public:
  using RingControl = BasicRingControl<Atomics>;

  // `ring` is mapped twice, `size` bytes each, a power of two; `control` belongs to it.
  BasicRingWriter(uint8_t* ring, size_t size, RingControl& control)
      : ring_(ring), size_(size), control_(control) {}

  size_t max_record() const { return MaxRecordSize(size_); }

  // Room for `size` bytes of payload, at most max_record(); null if there is none, or the reader's
  // head is impossible (broken()).
  uint8_t* TryReserve(size_t size) {
    if (!Fits(size) && !(LoadHead() && Fits(size))) return nullptr;
    reserved_ = RecordLength(size);
    ZeroAt(tail() + reserved_);
    return ring_ + (tail() & (size_ - 1)) + kRecordHeaderSize;
  }

  // Publishes the first `size` bytes of the reservation. Keeps (1).
  void Commit(size_t size) {
    const size_t length = RecordLength(size);
    const uint64_t next = tail() + length;
    if (length != reserved_) ZeroAt(next);
    CommitWordAt<Atomics>(ring_, size_ - 1, tail())
        .store(CommitWord(size), std::memory_order_release);  // [publish]
    tail_.store(next, std::memory_order_relaxed);  // relaxed: for RoomAt() alone; see there.
  }

  // Publishes that nothing follows. Neither TryReserve() nor Commit() may come after it. Keeps (4).
  void CommitEnd() {
    CommitWordAt<Atomics>(ring_, size_ - 1, tail())
        .store(kEndWord, std::memory_order_release);  // [publish]
  }

  // The head at which TryReserve(size) would succeed, by (2). Any thread may ask: another writer
  // can move the tail meanwhile, and then the answer is too low, and TryReserve() fails again.
  uint64_t RoomAt(size_t size) const {
    const uint64_t end = tail() + RecordLength(size) + kFreeBytes;
    return end > size_ ? end - size_ : 0;
  }

  // The first head, from `head` on, at which the reader looks whether a writer sleeps. For a head
  // that RoomAt() gave it lies before the tail, as a record takes a quarter of the ring at most:
  // the reader comes there whatever the writer does.
  uint64_t NextWake(uint64_t head) const {
    const uint64_t part = size_ / Atomics::kWakeParts;
    return (head + part - 1) & ~(part - 1);
  }

  // Whether the reader says that it has come to `head`. Any thread may ask.
  bool ReaderReached(uint64_t head) const { return ReadersHead() >= head; }

  // Where the next record goes. Any thread may ask: a hint.
  uint64_t position() const { return tail(); }

  // What the reader says, unchecked. Any thread may ask.
  uint64_t ReadersHead() const {
    return control_.head.load(std::memory_order_relaxed);  // relaxed: a hint; see LoadHead().
  }

  // The reader published a head that it cannot have reached.
  bool broken() const { return broken_; }

  // The reader says that it reads no more. Any thread may ask.
  bool ReadsNoMore() const {
    return control_.head.load(std::memory_order_relaxed) ==
           kReadsNoMore;  // relaxed: nothing is read because of it.
  }

 private:
  static constexpr size_t kFreeBytes = Atomics::kFreeLines * kLine;

  uint64_t tail() const { return tail_.load(std::memory_order_relaxed); }

  // relaxed: ordered by [publish]. By (2) this is not a word that the reader still needs.
  void ZeroAt(uint64_t position) {
    CommitWordAt<Atomics>(ring_, size_ - 1, position).store(0, std::memory_order_relaxed);
  }

  bool Fits(size_t size) const {
    return tail() + RecordLength(size) + kFreeBytes - seen_head_ <= size_;  // Keeps (2).
  }

  // Copies the shared head and checks the copy: a head moves forward, and never past the tail.
  bool LoadHead() {
    const uint64_t head = control_.head.load(std::memory_order_acquire);  // Pairs with [release].
    if (head == kReadsNoMore) return false;
    if (head < seen_head_ || head > tail() || head % kLine != 0) {
      broken_ = true;
      return false;
    }
    seen_head_ = head;
    return true;
  }

  uint8_t* const ring_;
  const size_t size_;
  RingControl& control_;
  typename Atomics::template Atomic<uint64_t> tail_{0};  // Written by the writer alone.
  size_t reserved_ = 0;  // Bytes of the ring that the reservation takes.
  uint64_t seen_head_ = 0;
  bool broken_ = false;
};

template <typename Atomics>
class BasicRingReader {
 public:
  using RingControl = BasicRingControl<Atomics>;

  BasicRingReader(uint8_t* ring, size_t size, RingControl& control)
      : ring_(ring), size_(size), control_(control) {}

  enum class Peeked { kNone, kRecord, kEnd, kBroken };

  // The next record, if it is there; `data` stays valid until Release().
  Peeked Peek(const uint8_t** data, size_t* size) {
    // Acquire pairs with [publish]. The whole header is this one word: copied once, then checked.
    const uint64_t word =
        CommitWordAt<Atomics>(ring_, size_ - 1, head_).load(std::memory_order_acquire);
    if (word == 0) return Peeked::kNone;
    const size_t payload = word & kCommitSizeMask;
    if ((word & ~(kCommitSizeMask | kCommitFlagMask)) != kCommitCommitted ||
        payload > MaxRecordSize(size_)) {
      bad_word_ = word;
      return word == kEndWord ? Peeked::kEnd : Peeked::kBroken;
    }
    *data = ring_ + (head_ & (size_ - 1)) + kRecordHeaderSize;
    *size = payload;
    length_ = RecordLength(payload);
    return Peeked::kRecord;
  }

  // True if Peek() would return something else than kNone.
  bool Ready() const {
    // relaxed: a hint; Peek() acquires.
    return CommitWordAt<Atomics>(ring_, size_ - 1, head_).load(std::memory_order_relaxed) != 0;
  }

  // Gives the record that Peek() returned back to the writer. True if the head has come to the
  // border of a part, or past one: a writer may sleep that wants it.
  bool Release() {
    const uint64_t before = head_;
    head_ += length_;
    length_ = 0;
    control_.head.store(head_, std::memory_order_release);  // [release]
    return ((before ^ head_) & ~(size_ / Atomics::kWakeParts - 1)) != 0;
  }

  uint64_t head() const { return head_; }

  // Publishes that this reader reads no more. Release() may not come after it. Keeps (4).
  // Returns the new head.
  uint64_t EndReading() {
    control_.head.store(kReadsNoMore, std::memory_order_release);  // [release]
    return kReadsNoMore;
  }

  // The word that was none of a record.
  uint64_t bad_word() const { return bad_word_; }

 private:
  uint8_t* const ring_;
  const size_t size_;
  RingControl& control_;
  uint64_t head_ = 0;
  size_t length_ = 0;
  uint64_t bad_word_ = 0;
};

using RingWriter = BasicRingWriter<StdAtomics>;
using RingReader = BasicRingReader<StdAtomics>;

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_RING_H_
