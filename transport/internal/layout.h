// Every byte that both processes see in a segment; FORMAT.md is the specification.
#ifndef LOCKET_TRANSPORT_INTERNAL_LAYOUT_H_
#define LOCKET_TRANSPORT_INTERNAL_LAYOUT_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "locket/transport/internal/atomics.h"

namespace locket::transport::internal {

static_assert(std::endian::native == std::endian::little, "format 1 is little-endian");
static_assert(std::atomic<uint64_t>::is_always_lock_free, "shared words are plain words");
static_assert(std::atomic<uint32_t>::is_always_lock_free, "shared words are plain words");
static_assert(sizeof(void*) == 8, "format 1 is for 64-bit processes");

inline constexpr uint32_t kSegmentMagic = 0x47534b4c;  // "LKSG"
inline constexpr uint16_t kFormatVersion = 1;
inline constexpr uint8_t kWordSize = 8;

// The layout hash of format 1: FORMAT.md says of which text it is the hash.
inline constexpr uint64_t kLayoutHash = 0xc4192526483d8b83;

inline constexpr size_t kLine = 64;
inline constexpr size_t kMinRingSize = size_t{1} << 12;
inline constexpr size_t kMaxRingSize = size_t{1} << 30;

// ---- Records

// A record starts on a line of its own with its commit word; the payload follows it.
inline constexpr size_t kRecordHeaderSize = 8;

// The commit word: 0 is "not committed".
inline constexpr uint64_t kCommitSizeMask = 0x3fffffff;     // Bits 0 to 29: bytes of payload.
inline constexpr uint64_t kCommitCommitted = 1u << 31;      // Bit 31: always set.
inline constexpr uint64_t kCommitMore = 1ull << 32;         // Bit 32: reserved for pieces.
inline constexpr uint64_t kCommitDescriptors = 1ull << 33;  // Bit 33: reserved for descriptors.
inline constexpr uint64_t kCommitEnd = 1ull << 34;          // Bit 34: of kEndWord alone.
inline constexpr uint64_t kCommitFlagMask = 0;              // The flags that this version accepts.

// Instead of a record's commit word: nothing follows in this direction.
inline constexpr uint64_t kEndWord = kCommitCommitted | kCommitEnd;

constexpr uint64_t CommitWord(size_t size) { return kCommitCommitted | size; }

// Bytes of the ring that a record with `size` bytes of payload takes.
constexpr size_t RecordLength(size_t size) {
  return (kRecordHeaderSize + size + kLine - 1) & ~(kLine - 1);
}

// Payload at most: a record takes at most a quarter of the ring.
constexpr size_t MaxRecordSize(size_t ring_size) { return ring_size / 4 - kRecordHeaderSize; }

// ---- Control words

// Who waits. A side announces that it sleeps, the other side takes that back when it wakes it.
enum WaitState : uint32_t {
  kRunning = 0,  // Polls, or is busy: no wake-up is needed.
  // Sleeps on the futex that the state is, or is about to: whoever provides must change this to
  // kRung and wake it.
  kParked = 1,
  kRung = 2,  // Was woken, and has not seen it yet.
  // As kParked, but sleeps in epoll on the connection's doorbell: the accepting side's reader
  // alone.
  kParkedAtDoorbell = 3,
};

// Instead of a head: the reader reads no more.
inline constexpr uint64_t kReadsNoMore = ~uint64_t{0};

// One direction. Hot words have 128 bytes to themselves (the adjacent-line prefetcher pairs
// lines); the words that only change when somebody sleeps are kept off them.
template <typename Atomics>
struct BasicRingControl {
  template <typename T>
  using Atomic = typename Atomics::template Atomic<T>;

  // Position up to which the reader has released. Written by the reader after every record.
  alignas(128) Atomic<uint64_t> head;
  uint8_t pad0[120];
  // A WaitState of the reader. Written by the reader; kParked, kParkedAtDoorbell -> kRung by the
  // writer.
  alignas(64) Atomic<uint32_t> reader_state;
  uint8_t pad1[60];
  // A WaitState of the writer. Written by the writer; kParked -> kRung by the reader.
  alignas(64) Atomic<uint32_t> writer_state;
  uint8_t pad2[4];
  // While the writer waits: the head it needs. Written by the writer before it parks.
  Atomic<uint64_t> wanted_head;
  uint8_t pad3[48];
};
using RingControl = BasicRingControl<StdAtomics>;
static_assert(sizeof(RingControl) == 256);
static_assert(offsetof(RingControl, head) == 0);
static_assert(offsetof(RingControl, reader_state) == 128);
static_assert(offsetof(RingControl, writer_state) == 192);
static_assert(offsetof(RingControl, wanted_head) == 200);

enum Direction : int { kToAccepting = 0, kToConnecting = 1 };

// The first page of a segment. The rings follow on the next page, kToAccepting first.
struct SegmentHeader {
  // Constant from before the segment is sent.
  uint32_t magic;
  uint16_t format_version;
  uint8_t word_size;
  uint8_t pad0;
  uint64_t layout_hash;
  uint64_t segment_size;
  uint64_t ring_size;
  uint64_t ring_offset;
  uint8_t pad1[88];
  RingControl rings[2];
  // Reserved for a robust futex of the watcher of each side, the accepting one's first; 0.
  uint32_t robust_futex[2];
  // 1 from when a side ends the connection of its own will; the accepting one's first.
  std::atomic<uint32_t> farewell[2];
  uint8_t pad2[112];
};
static_assert(offsetof(SegmentHeader, layout_hash) == 8);
static_assert(offsetof(SegmentHeader, segment_size) == 16);
static_assert(offsetof(SegmentHeader, ring_size) == 24);
static_assert(offsetof(SegmentHeader, ring_offset) == 32);
static_assert(offsetof(SegmentHeader, rings) == 128);
static_assert(offsetof(SegmentHeader, robust_futex) == 640);
static_assert(offsetof(SegmentHeader, farewell) == 648);
static_assert(sizeof(SegmentHeader) == 768);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_LAYOUT_H_
