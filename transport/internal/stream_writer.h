// How bytes become records: the writing half of a stream socket.
#ifndef LOCKET_TRANSPORT_INTERNAL_STREAM_WRITER_H_
#define LOCKET_TRANSPORT_INTERNAL_STREAM_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"

namespace locket::transport::internal {

// Small writes are gathered in memory of this process, which nobody else sees, and become one
// record when it is full or at a flush; what is larger than that memory goes straight into the
// ring, in records of max_record() bytes.
//
// Rejected: gathering in a reservation of the ring. It saves a copy of at most 4 KiB (some 40 ns),
// but small stores into a line that the reader polls cost more than that, and the reservation would
// have to be of the largest size, so that a small flush would wait for room that it does not need.
//
// `until`, everywhere: how long to wait for room; null for not at all.
//
// Thread safety: one thread at a time. Borrows the connection.
class StreamWriter {
 public:
  StreamWriter(Connection& connection, size_t max_record);

  size_t max_record() const { return max_record_; }

  // Bytes taken: fewer than `size` where the ring is full and `until` null or over.
  // DEADLINE_EXCEEDED if it is over and none was taken.
  absl::StatusOr<size_t> Write(const void* data, size_t size, const Deadline* until);

  // False if there is no room, only where `until` is null.
  absl::StatusOr<bool> Flush(const Deadline* until);

  // Null if there is no room, only where `until` is null.
  absl::StatusOr<uint8_t*> Reserve(size_t size, const Deadline* until) {
    if (buffered_ == 0 && size <= max_record_) {
      // Null also at the end, which ReserveSlowly() finds out.
      if (uint8_t* const room = connection_.TryReserve(size)) {
        reserved_ = size;
        return room;
      }
    }
    return ReserveSlowly(size, until);
  }

  absl::Status Commit(size_t size) {
    if (!reserved_.has_value() || size > *reserved_ || connection_.closed()) {
      return WhyNoCommit(size);
    }
    reserved_.reset();
    connection_.Commit(size);
    return absl::OkStatus();
  }

  // Flushes, then ends the direction. Idempotent.
  absl::Status End(const Deadline* until);

 private:
  // OK if this direction goes on as far as is known without touching what the peer writes.
  absl::Status CheckOpen() const;
  absl::StatusOr<uint8_t*> Room(size_t size, const Deadline* until);
  absl::StatusOr<uint8_t*> ReserveSlowly(size_t size, const Deadline* until);
  absl::Status WhyNoCommit(size_t size) const;

  Connection& connection_;
  const size_t max_record_;
  const size_t buffer_size_;
  const std::unique_ptr<uint8_t[]> buffer_;
  size_t buffered_ = 0;
  std::optional<size_t> reserved_;
  bool ended_ = false;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_STREAM_WRITER_H_
