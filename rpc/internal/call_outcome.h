// How a call ended, with what the library knows beyond the Status that the user sees.
#ifndef LOCKET_RPC_INTERNAL_CALL_OUTCOME_H_
#define LOCKET_RPC_INTERNAL_CALL_OUTCOME_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "locket/rpc/status.h"

namespace locket::internal {

struct CallOutcome {
  StatusCode code = StatusCode::OK;
  std::string text;
  std::string details;
  // For people: who and what, where `text` is gRPC's and says neither.
  std::string debug;
  // No handler has seen the call and none will: it may be tried again.
  bool not_begun = false;

  Status ToStatus() const {
    return code == StatusCode::OK ? Status() : Status(code, text, details);
  }
};

// ---- The rows of the status table (gRPC's texts, exactly).

CallOutcome Cancelled();
CallOutcome DeadlineExceeded();
CallOutcome NoResponse(std::string debug);

// `verb` is "Received" or "Sent".
CallOutcome MessageTooLarge(const char* verb, size_t size, int64_t limit);

// Connecting failed with `error`.
CallOutcome NotConnected(const absl::Status& error, const std::string& target);

// The connection, which peer `peer` had the other end of, ended with `error`.
CallOutcome ConnectionEnded(const absl::Status& error, const std::string& peer);

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CALL_OUTCOME_H_
