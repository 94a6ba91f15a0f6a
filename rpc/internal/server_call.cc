#include "locket/rpc/internal/server_call.h"

#include <cxxabi.h>

#include <algorithm>
#include <utility>

#include "locket/rpc/internal/call_outcome.h"
#include "locket/rpc/internal/serialization.h"
#include "locket/rpc/internal/server_connection.h"

namespace locket::internal {

using google::protobuf::MessageLite;
using transport::Deadline;

void ServerCall::Reset(uint32_t id, UnaryHandler* handler, Deadline deadline, size_t size) {
  id_ = id;
  handler_ = handler;
  deadline_ = deadline;
  request_size_ = size;
  request_.Clear();
  refused_ = false;
  // relaxed: nobody else knows this call yet.
  cancelled_.store(false, std::memory_order_relaxed);
}

void ServerCall::Refuse(StatusCode code, std::string text, bool not_begun) {
  refused_ = true;
  refused_code_ = code;
  refused_text_ = std::move(text);
  refused_not_begun_ = not_begun;
}

void ServerCall::Run() {
  if (refused_) {
    FinishWith(refused_code_, refused_text_, refused_not_begun_);
  } else if (deadline_.passed()) {
    FinishWith(StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded");
  } else {
    RunHandler();
  }
  connection_.Recycle(*this);
}

void ServerCall::RunHandler() {
  UnaryExchange exchange(this, &context_);
  try {
    handler_->Run(&exchange);
  } catch (abi::__forced_unwind&) {
    throw;  // pthread_cancel() and pthread_exit(): not to be stopped.
  } catch (...) {
    FinishWith(StatusCode::UNKNOWN, "Unexpected error in RPC handling");
  }
}

bool ServerCall::ReceiveRequest(MessageLite* request) {
  const bool parsed = ParseMessage(request_, request);
  request_.Clear();  // A large one would wait for the handler.
  if (!parsed) FinishWith(StatusCode::INTERNAL, "");
  return parsed;
}

void ServerCall::Finish(const Status& status, const MessageLite& response) {
  if (!status.ok()) {
    if (connection_.Unregister(*this)) connection_.SendFinish(id_, status, false);
    return;
  }
  const size_t size = MessageSize(response);
  const int64_t limit = std::min(connection_.limits().send, static_cast<int64_t>(kMaxMessageSize));
  if (static_cast<int64_t>(size) > limit) {
    const CallOutcome outcome = MessageTooLarge("Sent", size, limit);
    FinishWith(outcome.code, outcome.text);
  } else if (connection_.FitsInFinish(size)) {
    if (connection_.Unregister(*this)) connection_.SendFinishOk(id_, response, size);
  } else {
    // CANCELLED: nobody waits for the rest, the client cancelled, its deadline passed, or it is
    // gone.
    FinishWith(connection_.SendMessage(*this, response, size), "");
  }
}

void ServerCall::FinishWith(StatusCode code, const std::string& text, bool not_begun) {
  if (connection_.Unregister(*this)) connection_.SendFinish(id_, Status(code, text), not_begun);
}

void ServerCall::TryCancel() {
  SetCancelled();
  FinishWith(StatusCode::CANCELLED, "Cancelled on the server side");
}

}  // namespace locket::internal
