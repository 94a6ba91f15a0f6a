// A ring in memory of this process, mapped twice in a row, for tests of the format.
#ifndef LOCKET_TRANSPORT_INTERNAL_RING_MEMORY_H_
#define LOCKET_TRANSPORT_INTERNAL_RING_MEMORY_H_

#include <memory>

#include "locket/transport/internal/segment.h"

namespace locket::transport::internal {

class RingMemory {
 public:
  explicit RingMemory(size_t size) : segment_(*Segment::Create(size)) {}

  uint8_t* data() { return segment_->ring(kToAccepting); }
  size_t size() const { return segment_->geometry().ring_size; }
  RingControl& control() { return segment_->header().rings[kToAccepting]; }

 private:
  const std::unique_ptr<Segment> segment_;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_RING_MEMORY_H_
