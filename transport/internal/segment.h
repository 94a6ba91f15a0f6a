// The memory of one connection: a sealed memfd, with each ring mapped twice in a row.
#ifndef LOCKET_TRANSPORT_INTERNAL_SEGMENT_H_
#define LOCKET_TRANSPORT_INTERNAL_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/internal/layout.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// Where the parts of a segment lie, in bytes.
struct SegmentGeometry {
  uint64_t ring_size = 0;
  uint64_t ring_offset = 0;  // Of the first ring: the page size.

  uint64_t segment_size() const { return ring_offset + 2 * ring_size; }
};

// Of a segment with such rings, where this process makes it.
uint64_t SegmentSize(uint64_t ring_size);

// A mapped segment. The mapping lasts as long as the object; it is not inherited by fork().
class Segment {
 public:
  // Creates the memory, all zero but for the header, with every page allocated: a lack of memory is
  // RESOURCE_EXHAUSTED here, and never SIGBUS later. INVALID_ARGUMENT for a size that is no power
  // of two from kMinRingSize (or a page, if that is more) to kMaxRingSize. Sealed against shrinking
  // and growing.
  static absl::StatusOr<std::unique_ptr<Segment>> Create(uint64_t ring_size);

  // Maps memory that the peer created. Everything about it is checked first: that it is a memfd
  // with both seals, its size by fstat, and the geometry by our own rules. INTERNAL if it is not
  // right.
  static absl::StatusOr<std::unique_ptr<Segment>> Map(UniqueFd memory, SegmentGeometry geometry);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Once both sides have mapped: nobody can map it writable again, punch holes, or add seals.
  // INTERNAL if the peer has punched one before. Closes the descriptor, which nobody needs any
  // more.
  absl::Status SealForGood();
  // The other side's check of that. INTERNAL.
  absl::Status CheckSealedForGood();

  // Takes the page faults of all mappings now, where the kernel can (Linux 5.14); it changes
  // nothing else.
  void Prefault();

  int descriptor() const { return memory_.get(); }
  const SegmentGeometry& geometry() const { return geometry_; }
  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(header_); }
  uint8_t* ring(Direction direction) const { return rings_[direction]; }

 private:
  Segment(UniqueFd memory, SegmentGeometry geometry)
      : memory_(std::move(memory)), geometry_(geometry) {}

  absl::Status MapAll();
  absl::Status LetGo();

  UniqueFd memory_;
  const SegmentGeometry geometry_;
  uint8_t* header_ = nullptr;
  uint8_t* rings_[2] = {nullptr, nullptr};
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_SEGMENT_H_
