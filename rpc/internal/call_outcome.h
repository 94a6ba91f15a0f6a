// How a call ended, with what the library knows beyond the Status that the user sees.
#ifndef LOCKET_RPC_INTERNAL_CALL_OUTCOME_H_
#define LOCKET_RPC_INTERNAL_CALL_OUTCOME_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "locket/rpc/status.h"

namespace locket::internal {

// Cheap to move: three words and a bool. OK unless said otherwise.
struct CallOutcome {
  Status status;
  // For people: who and what, where the status has gRPC's text and that says neither. May be null.
  std::unique_ptr<const std::string> debug;
  // No handler has seen the call and none will: it may be tried again.
  bool not_begun = false;
};

// ---- The rows of the status table (gRPC's texts, exactly).

CallOutcome Cancelled();
CallOutcome DeadlineExceeded();
CallOutcome NoResponse(const std::string& debug);

// `verb` is "Received" or "Sent".
CallOutcome MessageTooLarge(const char* verb, size_t size, int64_t limit);

// Connecting failed with `error`.
CallOutcome NotConnected(const absl::Status& error, const std::string& target);

// The connection, which peer `peer` had the other end of, ended with `error`.
CallOutcome ConnectionEnded(const absl::Status& error, const std::string& peer);

// ---- Own texts.

CallOutcome NoMemory(const char* what, size_t size);
// A channel that can never make a call, for the reason `status`.
CallOutcome LameChannel(const Status& status, const std::string& target);

// The channel was made by process `owner`, of which this one is a forked child.
CallOutcome ForkedChannel(const std::string& target, pid_t owner);

CallOutcome NameTooLong(size_t size, size_t record);

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CALL_OUTCOME_H_
