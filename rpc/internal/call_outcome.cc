#include "locket/rpc/internal/call_outcome.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace locket::internal {
namespace {

CallOutcome Outcome(StatusCode code, const std::string& text, const std::string& debug) {
  CallOutcome outcome;
  outcome.status = Status(code, text);
  outcome.debug = std::make_unique<const std::string>(debug);
  return outcome;
}

}  // namespace

CallOutcome Cancelled() {
  return Outcome(StatusCode::CANCELLED, "CANCELLED", "TryCancel() of the call's ClientContext");
}

CallOutcome DeadlineExceeded() {
  return Outcome(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded", "the call's deadline passed");
}

CallOutcome NoResponse(const std::string& debug) {
  return Outcome(StatusCode::UNIMPLEMENTED, "No message returned for unary request", debug);
}

CallOutcome MessageTooLarge(const char* verb, size_t size, int64_t limit) {
  const std::string text =
      absl::StrCat(verb, " message larger than max (", size, " vs. ", limit, ")");
  return Outcome(StatusCode::RESOURCE_EXHAUSTED, text, text);
}

CallOutcome NotConnected(const absl::Status& error, const std::string& target) {
  const std::string message(error.message());
  const std::string debug = absl::StrCat("connecting to ", target, ": ", error.ToString());
  switch (error.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      return Outcome(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded", debug);
    case absl::StatusCode::kUnavailable:
      return Outcome(
          StatusCode::UNAVAILABLE,
          absl::StrCat("failed to connect to all addresses; last error: UNKNOWN: ", message),
          debug);
    default:  // Names both uids, the address that cannot be, or what the system lacks.
      return Outcome(static_cast<StatusCode>(error.code()), message, debug);
  }
}

CallOutcome ConnectionEnded(const absl::Status& error, const std::string& peer) {
  const std::string debug = absl::StrCat("connection to ", peer, " ended: ", error.ToString());
  if (error.code() == absl::StatusCode::kInternal) {  // A lying peer.
    return Outcome(StatusCode::INTERNAL, std::string(error.message()), debug);
  }
  return Outcome(StatusCode::UNAVAILABLE, "Socket closed", debug);
}

CallOutcome NoMemory(const char* what, size_t size) {
  const std::string text = absl::StrCat("no memory for ", what, " of ", size, " bytes");
  return Outcome(StatusCode::RESOURCE_EXHAUSTED, text, text);
}

CallOutcome LameChannel(const Status& status, const std::string& target) {
  CallOutcome outcome;
  outcome.status = status;
  outcome.debug = std::make_unique<const std::string>(
      absl::StrCat("the channel to \"", target, "\" can never connect"));
  return outcome;
}

CallOutcome ForkedChannel(const std::string& target, pid_t owner) {
  const std::string text = absl::StrCat("the channel to ", target, " belongs to process ", owner,
                                        ", not to its forked child ", getpid(), ": make a new one");
  return Outcome(StatusCode::FAILED_PRECONDITION, text, text);
}

CallOutcome NameTooLong(size_t size, size_t record) {
  const std::string text = absl::StrCat("a method's name of ", size,
                                        " bytes does not fit in a record of ", record, " bytes");
  return Outcome(StatusCode::INTERNAL, text, text);
}

}  // namespace locket::internal
