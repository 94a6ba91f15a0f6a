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

void ServerCall::Refuse(Status status, bool not_begun) {
  refused_ = true;
  refusal_ = std::move(status);
  refused_not_begun_ = not_begun;
}

void ServerCall::Run() {
  if (refused_) {
    FinishWith(refusal_, refused_not_begun_);
  } else if (deadline_.passed()) {
    FinishWith(DeadlineExceeded().status);
  } else {
    RunHandler();
  }
  connection_.Recycle(*this);
}

void ServerCall::RunHandler() {
  if (messages_of_ != handler_) {
    messages_ = handler_->NewMessages();
    messages_of_ = handler_;
  }
  const bool parsed = ParseMessage(request_, messages_->request());
  request_.Clear();  // A large one would wait for the handler.
  if (!parsed) {
    FinishWith(Status(StatusCode::INTERNAL, ""));
  } else {
    try {
      const Status status = handler_->Run(&context_, messages_.get());
      if (status.ok()) {
        Respond(*messages_->response());
      } else {
        FinishWith(status);
      }
    } catch (abi::__forced_unwind&) {
      throw;  // pthread_cancel() and pthread_exit(): not to be stopped.
    } catch (...) {
      FinishWith(Status(StatusCode::UNKNOWN, "Unexpected error in RPC handling"));
    }
  }
  ForgetMessages();
}

void ServerCall::Respond(const MessageLite& response) {
  response_size_ = MessageSize(response);
  const int64_t limit = std::min(connection_.limits().send, static_cast<int64_t>(kMaxMessageSize));
  if (static_cast<int64_t>(response_size_) > limit) {
    FinishWith(MessageTooLarge("Sent", response_size_, limit).status);
  } else if (connection_.FitsInFinish(response_size_)) {
    if (connection_.Unregister(*this)) connection_.SendFinishOk(id_, response, response_size_);
  } else {
    // CANCELLED: nobody waits for the rest, the client cancelled, its deadline passed, or it is
    // gone.
    FinishWith(Status(connection_.SendMessage(*this, response, response_size_), ""));
  }
}

void ServerCall::ForgetMessages() {
  // A response that was not sent may have any size.
  if (request_size_ > Buffer::kKept || response_size_ == 0 || response_size_ > Buffer::kKept) {
    messages_ = nullptr;
    messages_of_ = nullptr;
  } else {
    messages_->request()->Clear();
    messages_->response()->Clear();
  }
  response_size_ = 0;
}

void ServerCall::FinishWith(const Status& status, bool not_begun) {
  if (!connection_.Unregister(*this)) return;
  // A handler that saw IsCancelled() may answer before the client's own clock has ended the call.
  const bool late = !status.ok() && deadline_.passed();
  connection_.SendFinish(id_, late ? DeadlineExceeded().status : status, not_begun);
}

void ServerCall::TryCancel() {
  SetCancelled();
  FinishWith(Status(StatusCode::CANCELLED, "Cancelled on the server side"));
}

}  // namespace locket::internal
