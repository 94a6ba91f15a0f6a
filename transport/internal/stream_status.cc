#include "locket/transport/internal/stream_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace locket::transport::internal {
namespace {

std::string Name(const Connection& connection) {
  return absl::StrCat("peer pid ", connection.peer().pid, " uid ", connection.peer().uid);
}

}  // namespace

absl::Status WhyEnded(const Connection& connection) {
  absl::Status status = connection.status();
  if (!absl::IsUnavailable(status)) return status;
  return absl::UnavailableError(
      absl::StrCat(Name(connection), connection.ended_cleanly()
                                         ? " closed the connection"
                                         : " died, or left without closing the connection"));
}

absl::Status WhyNotWritable(const Connection& connection) {
  if (connection.closed()) return WhyEnded(connection);
  return absl::UnavailableError(absl::StrCat(Name(connection), " reads no more"));
}

absl::Status ClosedHere() { return absl::CancelledError("this side has closed the socket"); }

absl::Status TooLate(const Connection& connection, const char* what) {
  return absl::DeadlineExceededError(absl::StrCat(what, " ", Name(connection), " came too late"));
}

}  // namespace locket::transport::internal
