#include "locket/transport/internal/stream_reader.h"

#include <algorithm>
#include <cstring>

#include "locket/transport/internal/stream_status.h"

namespace locket::transport::internal {
namespace {

absl::Status RecordInUse() {
  return absl::FailedPreconditionError("a record is in use: release it before the next read");
}

}  // namespace

ReadResult StreamReader::TryNext() {
  if (rest_.has_value()) return ReadResult::kRecord;
  Record record;
  const ReadResult result = connection_.TryReceive(&record);
  if (result == ReadResult::kRecord) rest_ = record;
  return result;
}

absl::StatusOr<bool> StreamReader::AtEnd() {
  end_of_stream_ = ended_ || connection_.ended_cleanly();
  if (end_of_stream_) return false;
  return WhyEnded(connection_);
}

absl::StatusOr<bool> StreamReader::Next(const Deadline* until) {
  if (ended_) return AtEnd();
  for (;;) {
    const uint32_t interrupts = connection_.interrupts();
    switch (TryNext()) {
      case ReadResult::kRecord:
        return true;
      case ReadResult::kEnd:
        return AtEnd();
      case ReadResult::kEmpty:
        break;
    }
    if (until == nullptr) return false;
    // However it ends, but for the deadline: look again.
    if (connection_.WaitReadable(*until, interrupts) == WaitResult::kDeadline) {
      return TooLate(connection_, "data of");
    }
  }
}

absl::StatusOr<size_t> StreamReader::Read(void* data, size_t size, const Deadline* until) {
  if (handed_out_) return RecordInUse();
  auto* const bytes = static_cast<uint8_t*>(data);
  size_t copied = 0;
  while (copied < size) {
    if (TryNext() != ReadResult::kRecord) {
      // Waits for the first byte alone.
      if (copied > 0) break;
      absl::StatusOr<bool> more = Next(until);
      if (!more.ok()) return more.status();
      if (!*more) break;
    }
    const size_t piece = std::min(size - copied, rest_->size);
    if (piece > 0) memcpy(bytes + copied, rest_->data, piece);
    copied += piece;
    rest_->data += piece;
    rest_->size -= piece;
    if (rest_->size > 0) continue;
    GiveBack();
    // Empty records are not what the caller waits for, however many come.
    if (copied == 0 && until == nullptr) break;
    if (copied == 0 && until->passed()) return TooLate(connection_, "data of");
  }
  return copied;
}

absl::StatusOr<std::optional<Record>> StreamReader::Receive(const Deadline* until) {
  if (handed_out_) return RecordInUse();
  absl::StatusOr<bool> more = Next(until);
  if (!more.ok()) return more.status();
  if (!*more) return std::nullopt;
  handed_out_ = true;
  return *rest_;
}

void StreamReader::End() {
  ended_ = true;
  connection_.CloseRead();
  // What was begun is no longer to be read.
  if (!handed_out_) rest_.reset();
}

}  // namespace locket::transport::internal
