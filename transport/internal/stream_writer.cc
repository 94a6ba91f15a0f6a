#include "locket/transport/internal/stream_writer.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/stream_status.h"

namespace locket::transport::internal {
namespace {

// With its header a record of 4 KiB: large enough that the cost of a record (a fence, and a line
// that moves between the CPUs) is small beside that of its bytes.
constexpr size_t kBufferSize = 4096 - 8;

}  // namespace

StreamWriter::StreamWriter(Connection& connection, size_t max_record)
    : connection_(connection),
      max_record_(std::min(max_record, connection.max_record())),
      buffer_size_(std::min(kBufferSize, max_record_)),
      buffer_(new uint8_t[buffer_size_]) {}

absl::Status StreamWriter::CheckOpen() const {
  if (ended_) return absl::FailedPreconditionError("a write after this side ended its direction");
  if (connection_.closed()) return WhyEnded(connection_);
  return absl::OkStatus();
}

absl::StatusOr<uint8_t*> StreamWriter::Room(size_t size, const Deadline* until) {
  for (;;) {
    const uint32_t interrupts = connection_.interrupts();
    if (uint8_t* const room = connection_.TryReserve(size)) return room;
    if (connection_.write_closed()) return WhyNotWritable(connection_);
    if (until == nullptr) return nullptr;
    // However it ends, but for the deadline: look again.
    if (connection_.WaitWritable(size, *until, interrupts) == WaitResult::kDeadline) {
      return TooLate(connection_, "room for a write to");
    }
  }
}

absl::StatusOr<size_t> StreamWriter::Write(const void* data, size_t size, const Deadline* until) {
  if (absl::Status open = CheckOpen(); !open.ok()) return open;
  reserved_.reset();
  const auto* const bytes = static_cast<const uint8_t*>(data);
  size_t taken = 0;
  while (taken < size) {
    const size_t left = size - taken;
    if (buffered_ == 0 && left >= buffer_size_) {
      const size_t piece = std::min(left, max_record_);
      absl::StatusOr<uint8_t*> room = Room(piece, until);
      if (absl::IsDeadlineExceeded(room.status()) && taken > 0) return taken;
      if (!room.ok()) return room.status();
      if (*room != nullptr) {
        memcpy(*room, bytes + taken, piece);
        connection_.Commit(piece);
        taken += piece;
        continue;
      }
      // No room for a large record: the buffer takes what it can.
    } else if (buffered_ == buffer_size_) {
      absl::StatusOr<bool> flushed = Flush(until);
      if (absl::IsDeadlineExceeded(flushed.status()) && taken > 0) return taken;
      if (!flushed.ok()) return flushed.status();
      if (!*flushed) return taken;
      continue;
    }
    const size_t piece = std::min(left, buffer_size_ - buffered_);
    memcpy(buffer_.get() + buffered_, bytes + taken, piece);
    buffered_ += piece;
    taken += piece;
  }
  return taken;
}

absl::StatusOr<bool> StreamWriter::Flush(const Deadline* until) {
  reserved_.reset();
  // Null also at the end: then, and where there is nothing to send, the slow way says how it is.
  uint8_t* room = buffered_ > 0 ? connection_.TryReserve(buffered_) : nullptr;
  if (room == nullptr) {
    if (absl::Status open = CheckOpen(); !open.ok()) return open;
    if (buffered_ == 0) return true;
    absl::StatusOr<uint8_t*> waited = Room(buffered_, until);
    if (!waited.ok()) return waited.status();
    if (*waited == nullptr) return false;
    room = *waited;
  }
  memcpy(room, buffer_.get(), buffered_);
  connection_.Commit(buffered_);
  buffered_ = 0;
  return true;
}

absl::StatusOr<uint8_t*> StreamWriter::ReserveSlowly(size_t size, const Deadline* until) {
  if (size > max_record_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a record of ", size, " bytes is larger than the largest, ", max_record_));
  }
  absl::StatusOr<bool> flushed = Flush(until);
  if (!flushed.ok()) return flushed.status();
  if (!*flushed) return nullptr;
  absl::StatusOr<uint8_t*> room = Room(size, until);
  if (room.ok() && *room != nullptr) reserved_ = size;
  return room;
}

absl::Status StreamWriter::WhyNoCommit(size_t size) const {
  if (absl::Status open = CheckOpen(); !open.ok()) return open;
  if (!reserved_.has_value()) {
    return absl::FailedPreconditionError("a commit without a reservation");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a commit of ", size, " bytes into a reservation of ", *reserved_));
}

absl::Status StreamWriter::End(const Deadline* until) {
  if (ended_) return absl::OkStatus();
  // With nothing to send nothing can be lost, though the peer may have left already.
  if (buffered_ > 0) {
    absl::StatusOr<bool> flushed = Flush(until);
    if (!flushed.ok()) return flushed.status();
  }
  connection_.CloseWrite();
  ended_ = true;
  reserved_.reset();
  return absl::OkStatus();
}

}  // namespace locket::transport::internal
