// How records become bytes again: the reading half of a stream socket.
#ifndef LOCKET_TRANSPORT_INTERNAL_STREAM_READER_H_
#define LOCKET_TRANSPORT_INTERNAL_STREAM_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"

namespace locket::transport::internal {

// `until`, everywhere: how long to wait for data; null for not at all.
//
// Thread safety: one thread at a time. Borrows the connection.
class StreamReader {
 public:
  explicit StreamReader(Connection& connection) : connection_(connection) {}

  // 0 at the end of the stream, and for nothing where `until` is null.
  absl::StatusOr<size_t> Read(void* data, size_t size, const Deadline* until);

  // The next record, or what Read() has left of it, to be given back by Release(); none at the end
  // of the stream, and for nothing where `until` is null.
  absl::StatusOr<std::optional<Record>> Receive(const Deadline* until);

  // As Receive(), where there is a whole record at once; else false, and Receive() tells more.
  bool ReceiveAtOnce(Record* record) {
    if (handed_out_ || rest_.has_value()) return false;
    if (connection_.TryReceive(record) != ReadResult::kRecord) return false;
    rest_ = *record;
    handed_out_ = true;
    return true;
  }

  void Release() {
    handed_out_ = false;
    GiveBack();
  }

  bool end_of_stream() const { return end_of_stream_; }

  // Reads no more.
  void End();

 private:
  // Sees to it that rest_ is there: false for the end of the stream or nothing.
  absl::StatusOr<bool> Next(const Deadline* until);
  // As Next(), without waiting; kEnd is the end of the stream, or an error.
  ReadResult TryNext();
  absl::StatusOr<bool> AtEnd();
  void GiveBack() {
    rest_.reset();
    connection_.Release();
  }

  Connection& connection_;
  // What is left of the record that is being read. It is the connection's until GiveBack().
  std::optional<Record> rest_;
  bool handed_out_ = false;  // By Receive().
  bool ended_ = false;       // By End().
  bool end_of_stream_ = false;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_STREAM_READER_H_
