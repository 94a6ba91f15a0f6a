#include "locket/rpc/internal/unary_call.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/call_tie.h"
#include "locket/rpc/internal/serialization.h"

namespace locket::internal {

namespace {

// The outcome of a call that has ended, with the response parsed: on the owner's thread, which
// holds neither a lock nor the reading role.
CallOutcome TakeOutcome(ClientCall& call, google::protobuf::MessageLite* response) {
  CallOutcome outcome = std::move(call.outcome());
  if (!outcome.status.ok()) {
    if (!call.start_sent.load(std::memory_order_relaxed) &&
        outcome.status.error_code() == StatusCode::UNAVAILABLE) {
      outcome.not_begun = true;
    }
    return outcome;
  }
  if (!call.has_one_message()) {
    return NoResponse(absl::StrCat("call ", call.id, " ended OK without a whole message"));
  }
  if (!ParseMessage(call.message, response)) {
    response->Clear();
    return NoResponse(absl::StrCat("the response of call ", call.id, ", ", call.message.size(),
                                   " bytes, is not a ", response->GetTypeName()));
  }
  return outcome;
}

}  // namespace

CallOutcome RunUnaryCall(ClientConnection& connection, ClientCall& call, bool has_id,
                         const RpcMethod& method, ClientContext& context, const Outgoing& request,
                         google::protobuf::MessageLite* response) {
  const transport::Deadline deadline = CallTie::deadline(context);
  bool left = false;
  // Also where a message's own code throws.
  const absl::Cleanup leave = [&] {
    if (!left) {
      CallTie::Untie(context, call);
      connection.Leave(call);
    } else {  // Large memory goes back now, and not with the next call.
      call.message.Clear();
      call.outgoing.Clear();
    }
    call.Done();
  };
  const bool may_start = CallTie::Tie(context, call);
  if (may_start && (has_id || connection.Await(call, Operation::kGetId, deadline))) {
    connection.SendRequest(call, method, request, deadline);
  }
  if (may_start) left = connection.AwaitEnd(call, context, deadline);
  return may_start ? TakeOutcome(call, response) : Cancelled();
}

}  // namespace locket::internal
