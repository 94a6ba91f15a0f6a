// The floor: what the hardware and memcpy charge for a round trip in the shape of Locket's ring.
//
// Each direction is a ring of 1 MiB in shared memory, mapped twice in a row so that every record is
// one span. A record starts on a cache line with a header of 8 bytes, the commit word, and the
// payload follows. The writer zeroes the commit word of the place after its record, copies the
// payload in, and release-stores the commit word. The reader polls that word, and copies the
// payload out. Records follow each other round and round, as in the ring.
//
// Why this is fair: an RPC over such a ring cannot avoid any of it. It touches the same cache lines
// in the same order, so that the misses are the same: the line of the commit word moves to the
// reader and, a lap later, back to the writer, and so does each line of payload; a ping-pong on one
// fixed line would be faster, and nothing that queues messages could reach it. And nothing else is
// in it: no fence, no wake-up or announcement, no check of what the peer wrote, no space accounting
// (a ping-pong cannot overrun), no frame, no serialisation, no allocation, and in the 4 B case no
// call of memcpy either.
//
// Not a floor for 64 KiB in one respect: a copy in and a copy out follow each other here, where a
// ring that sends pieces can overlap them.
#ifndef LOCKET_BENCH_FLOOR_H_
#define LOCKET_BENCH_FLOOR_H_

#include <errno.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace locket::bench {

inline void CpuPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How every system copies a message into its memory and out of it.
inline void CopyPayload(char* to, const char* from, size_t bytes) {
  if (bytes == 4) {
    memcpy(to, from, 4);  // one move
  } else {
    // The barrier hides the size: for known sizes gcc writes rep movs, slower than libc's memcpy.
    asm volatile("" : "+r"(bytes));
    memcpy(to, from, bytes);
  }
  // Makes the copy happen, although the benchmark does not look at the bytes.
  asm volatile("" : : "r"(to) : "memory");
}

// One direction, as one of its two ends sees it. An end only writes or only reads; one thread.
class FloorRing {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kLine = 64;
  static constexpr size_t kHeader = 8;
  static constexpr size_t kMaxPayload = kBytes / 4 - kHeader;

  // Maps `fd`, zeroed memory, from `offset`. The mapping stays for the life of the process.
  static absl::StatusOr<FloorRing> Map(int fd, off_t offset) {
    void* const place = mmap(nullptr, 2 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) return absl::ErrnoToStatus(errno, "mmap of 2 MiB");
    char* const base = static_cast<char*>(place);
    for (char* half : {base, base + kBytes}) {
      // Populated, so that no page fault is in the measurement.
      if (mmap(half, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd,
               offset) == MAP_FAILED) {
        return absl::ErrnoToStatus(errno, "mmap of a floor ring");
      }
    }
    return FloorRing(base);
  }

  static constexpr size_t Length(size_t bytes) {
    return (kHeader + bytes + kLine - 1) / kLine * kLine;
  }

  void Write(const char* from, size_t bytes) {
    const size_t next = After(bytes);
    // relaxed: the release below publishes it too, and the reader comes here only after that.
    CommitWord(next).store(0, std::memory_order_relaxed);
    CopyPayload(base_ + position_ + kHeader, from, bytes);
    CommitWord(position_).store(bytes, std::memory_order_release);  // [publish]
    position_ = next;
  }

  void Read(char* to, size_t bytes, bool pause) {
    // acquire: pairs with [publish] in Write().
    while (CommitWord(position_).load(std::memory_order_acquire) == 0) {
      if (pause) CpuPause();
    }
    CopyPayload(to, base_ + position_ + kHeader, bytes);
    position_ = After(bytes);
  }

 private:
  explicit FloorRing(char* base) : base_(base) {}

  size_t After(size_t bytes) const { return (position_ + Length(bytes)) % kBytes; }

  std::atomic_ref<uint64_t> CommitWord(size_t position) const {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(base_ + position));
  }

  char* base_;
  size_t position_ = 0;
};

// The same ring where the writer may be ahead of the reader by more than a record: the reader
// publishes how far it is after each record, and the writer looks where it has no room by what it
// saw last. For streams, and for messages of several records.
class FloorStream {
 public:
  // `head` is zeroed and shared by both ends.
  FloorStream(FloorRing ring, uint64_t* head) : ring_(ring), head_(*head) {}

  void Write(const char* from, size_t bytes, bool pause) {
    const uint64_t end = done_ + FloorRing::Length(bytes);
    while (end + FloorRing::kLine - seen_head_ > FloorRing::kBytes) {
      seen_head_ = head_.load(std::memory_order_acquire);
      if (pause) CpuPause();
    }
    ring_.Write(from, bytes);
    done_ = end;
  }

  void Read(char* to, size_t bytes, bool pause) {
    ring_.Read(to, bytes, pause);
    done_ += FloorRing::Length(bytes);
    head_.store(done_, std::memory_order_release);
  }

 private:
  FloorRing ring_;
  std::atomic_ref<uint64_t> head_;
  uint64_t done_ = 0;
  uint64_t seen_head_ = 0;
};

}  // namespace locket::bench

#endif  // LOCKET_BENCH_FLOOR_H_
