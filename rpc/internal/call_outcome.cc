#include "locket/rpc/internal/call_outcome.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace locket::internal {
namespace {

CallOutcome Outcome(StatusCode code, std::string text, std::string debug) {
  CallOutcome outcome;
  outcome.code = code;
  outcome.text = std::move(text);
  outcome.debug = std::move(debug);
  return outcome;
}

}  // namespace

CallOutcome Cancelled() {
  return Outcome(StatusCode::CANCELLED, "CANCELLED", "TryCancel() of the call's ClientContext");
}

CallOutcome DeadlineExceeded() {
  return Outcome(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded", "the call's deadline passed");
}

CallOutcome NoResponse(std::string debug) {
  return Outcome(StatusCode::UNIMPLEMENTED, "No message returned for unary request",
                 std::move(debug));
}

CallOutcome MessageTooLarge(const char* verb, size_t size, int64_t limit) {
  std::string text = absl::StrCat(verb, " message larger than max (", size, " vs. ", limit, ")");
  return Outcome(StatusCode::RESOURCE_EXHAUSTED, text, text);
}

CallOutcome NotConnected(const absl::Status& error, const std::string& target) {
  const absl::string_view message = error.message();
  std::string debug = absl::StrCat("connecting to ", target, ": ", error.ToString());
  switch (error.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return Outcome(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded", std::move(debug));
    case absl::StatusCode::kUnavailable:
      return Outcome(
          StatusCode::UNAVAILABLE,
          absl::StrCat("failed to connect to all addresses; last error: UNKNOWN: ", message),
          std::move(debug));
    default:  // Names both uids, the address that cannot be, or what the system lacks.
      return Outcome(static_cast<StatusCode>(error.code()), std::string(message), std::move(debug));
  }
}

CallOutcome ConnectionEnded(const absl::Status& error, const std::string& peer) {
  std::string debug = absl::StrCat("connection to ", peer, " ended: ", error.ToString());
  if (error.code() == absl::StatusCode::kInternal) {  // A lying peer.
    return Outcome(StatusCode::INTERNAL, std::string(error.message()), std::move(debug));
  }
  return Outcome(StatusCode::UNAVAILABLE, "Socket closed", std::move(debug));
}

}  // namespace locket::internal
