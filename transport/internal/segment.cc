#include "locket/transport/internal/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locket/transport/internal/close_aside.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/kernel_features.h"

// Newer than Debian 12's kernel headers.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace locket::transport::internal {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kFinalSeals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

uint64_t PageSize() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

bool IsRingSize(uint64_t size) {
  return std::has_single_bit(size) && size >= kMinRingSize && size >= PageSize() &&
         size <= kMaxRingSize;
}

absl::StatusOr<UniqueFd> CreateMemory(uint64_t size) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const KernelFeatures& features = UsedKernelFeatures();
  if (!features.memfd) return ErrnoStatus(ENOSYS, "memfd_create");
  if (!features.sealing) return ErrnoStatus(EINVAL, "fcntl(memfd, F_ADD_SEALS)");
  UniqueFd memory;
  errno = EINVAL;
  if (features.memfd_noexec_seal) memory.Reset(memfd_create("locket", kFlags | MFD_NOEXEC_SEAL));
  if (!memory.valid() && errno == EINVAL) memory.Reset(memfd_create("locket", kFlags));
  if (!memory.valid()) return ErrnoStatus(errno, "memfd_create");
  if (fchmod(memory.get(), 0600) != 0) return ErrnoStatus(errno, "fchmod(memfd, 0600)");
  int failed;
  do {
    failed = fallocate(memory.get(), 0, 0, static_cast<off_t>(size));
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return ErrnoStatus(errno, absl::StrCat("fallocate(memfd, ", size, ")"));
  if (fcntl(memory.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    return ErrnoStatus(errno, "fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)");
  }
  return memory;
}

absl::Status CheckSeals(int memory, int wanted) {
  const int seals = fcntl(memory, F_GET_SEALS);
  if (seals >= 0 && (seals & wanted) == wanted) return absl::OkStatus();
  return absl::InternalError(absl::StrFormat(
      "the peer's memory has the seals %#x, and not all of %#x", seals < 0 ? 0 : seals, wanted));
}

// Whether every page of the memory is allocated: who maps it can punch holes until it is sealed for
// good, and touching a hole later may be SIGBUS.
absl::Status CheckAllocated(int memory, uint64_t size) {
  struct stat stat;
  if (fstat(memory, &stat) != 0) return ErrnoStatus(errno, "fstat of the segment's memory");
  const uint64_t allocated = static_cast<uint64_t>(stat.st_blocks) * 512;
  if (allocated >= size) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the segment has ", allocated, " of ", size,
                                          " bytes allocated: the peer punched holes"));
}

void* MapShared(void* at, int fixed, size_t size, int memory, uint64_t offset) {
  return mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, memory,
              static_cast<off_t>(offset));
}

// Maps `size` bytes at `offset` twice in a row.
uint8_t* MapTwice(int memory, uint64_t offset, size_t size) {
  void* space = mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) return nullptr;
  auto* ring = static_cast<uint8_t*>(space);
  if (MapShared(ring, MAP_FIXED, size, memory, offset) == MAP_FAILED ||
      MapShared(ring + size, MAP_FIXED, size, memory, offset) == MAP_FAILED ||
      madvise(ring, 2 * size, MADV_DONTFORK) != 0) {
    const int error = errno;
    munmap(space, 2 * size);
    errno = error;
    return nullptr;
  }
  return ring;
}

}  // namespace

uint64_t SegmentSize(uint64_t ring_size) {
  return SegmentGeometry{ring_size, PageSize()}.segment_size();
}

absl::StatusOr<std::unique_ptr<Segment>> Segment::Create(uint64_t ring_size) {
  if (!IsRingSize(ring_size)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ring size ", ring_size, " is no power of two from ", kMinRingSize, " to ", kMaxRingSize));
  }
  const SegmentGeometry geometry{ring_size, PageSize()};
  absl::StatusOr<UniqueFd> memory = CreateMemory(geometry.segment_size());
  if (!memory.ok()) return memory.status();
  std::unique_ptr<Segment> segment(new Segment(*std::move(memory), geometry));
  if (absl::Status mapped = segment->MapAll(); !mapped.ok()) return mapped;
  SegmentHeader& header = *new (segment->header_) SegmentHeader{};
  header.magic = kSegmentMagic;
  header.format_version = kFormatVersion;
  header.word_size = kWordSize;
  header.layout_hash = kLayoutHash;
  header.segment_size = geometry.segment_size();
  header.ring_size = geometry.ring_size;
  header.ring_offset = geometry.ring_offset;
  return segment;
}

absl::StatusOr<std::unique_ptr<Segment>> Segment::Map(UniqueFd memory, SegmentGeometry geometry) {
  // What is refused may be no memory at all, but something whose close() waits.
  const absl::Cleanup refused = [&memory] {
    if (memory.valid()) CloseAside(std::move(memory));
  };
  if (!IsRingSize(geometry.ring_size) || geometry.ring_offset != PageSize()) {
    return absl::InternalError(absl::StrCat("the peer's rings of ", geometry.ring_size,
                                            " bytes at offset ", geometry.ring_offset,
                                            " cannot be (page size ", PageSize(), ")"));
  }
  if (absl::Status sealed = CheckSeals(memory.get(), kSizeSeals); !sealed.ok()) return sealed;
  struct stat stat;
  if (fstat(memory.get(), &stat) != 0) return ErrnoStatus(errno, "fstat of the peer's memory");
  if (static_cast<uint64_t>(stat.st_size) != geometry.segment_size()) {
    return absl::InternalError(absl::StrCat("the peer's memory has ", stat.st_size,
                                            " bytes, and not ", geometry.segment_size()));
  }
  std::unique_ptr<Segment> segment(new Segment(std::move(memory), geometry));
  if (absl::Status mapped = segment->MapAll(); !mapped.ok()) return mapped;
  return segment;
}

absl::Status Segment::MapAll() {
  const size_t header_size = geometry_.ring_offset;
  void* header = MapShared(nullptr, 0, header_size, memory_.get(), 0);
  if (header == MAP_FAILED) return ErrnoStatus(errno, "mmap of the segment's header");
  header_ = static_cast<uint8_t*>(header);
  if (madvise(header, header_size, MADV_DONTFORK) != 0) {
    return ErrnoStatus(errno, "madvise(MADV_DONTFORK)");
  }
  for (int direction : {kToAccepting, kToConnecting}) {
    const uint64_t offset = geometry_.ring_offset + direction * geometry_.ring_size;
    rings_[direction] = MapTwice(memory_.get(), offset, geometry_.ring_size);
    if (rings_[direction] == nullptr) {
      return ErrnoStatus(errno, absl::StrCat("mmap of a ring of ", geometry_.ring_size, " bytes"));
    }
  }
  return absl::OkStatus();
}

void Segment::Prefault() {
  // The memory is allocated already, so that a failure means an older kernel.
  madvise(header_, geometry_.ring_offset, MADV_POPULATE_WRITE);
  for (uint8_t* ring : rings_) madvise(ring, 2 * geometry_.ring_size, MADV_POPULATE_WRITE);
}

Segment::~Segment() {
  if (header_ != nullptr) munmap(header_, geometry_.ring_offset);
  for (uint8_t* ring : rings_) {
    if (ring != nullptr) munmap(ring, 2 * geometry_.ring_size);
  }
}

absl::Status Segment::SealForGood() {
  if (fcntl(memory_.get(), F_ADD_SEALS, kFinalSeals) != 0) {
    return ErrnoStatus(errno, "fcntl(memfd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)");
  }
  return LetGo();
}

absl::Status Segment::CheckSealedForGood() {
  absl::Status sealed = CheckSeals(memory_.get(), kSizeSeals | kFinalSeals);
  return sealed.ok() ? LetGo() : sealed;
}

absl::Status Segment::LetGo() {
  absl::Status allocated = CheckAllocated(memory_.get(), geometry_.segment_size());
  memory_.Reset();
  return allocated;
}

}  // namespace locket::transport::internal
