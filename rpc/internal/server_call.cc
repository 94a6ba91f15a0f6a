#include "locket/rpc/internal/server_call.h"

#include <cxxabi.h>

#include <algorithm>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "locket/rpc/internal/call_outcome.h"
#include "locket/rpc/internal/serialization.h"
#include "locket/rpc/internal/server_connection.h"
#include "locket/rpc/time_point.h"

namespace locket::internal {

using google::protobuf::MessageLite;
using std::chrono::system_clock;
using transport::Deadline;

namespace {

constexpr char kHandlerFailed[] = "Unexpected error in RPC handling";  // gRPC's text.

// ServerCall::ForgetMessages()
constexpr size_t kUnseen = 16 * 1024;

}  // namespace

void ServerCall::Reset(uint32_t id, UnaryHandler* handler, Deadline deadline, size_t size) {
  id_ = id;
  handler_ = handler;
  deadline_ = deadline;
  request_size_ = size;
  request_.Clear();
  refused_ = false;
  // relaxed: nobody else knows this call yet.
  cancelled_by_.store(CancelledBy::kNobody, std::memory_order_relaxed);
  system_deadline_.store(kUnasked, std::memory_order_relaxed);
}

void ServerCall::Refuse(Status status, bool not_begun) {
  refused_ = true;
  refusal_ = std::move(status);
  refused_not_begun_ = not_begun;
}

void ServerCall::Run() {
  // The last thing of all: the call may be another one afterwards, and its connection gone.
  const absl::Cleanup recycle = [this] { connection_.Recycle(*this); };
  try {
    if (refused_) {
      FinishWith(refusal_, refused_not_begun_);
    } else if (deadline_.passed()) {
      FinishWith(DeadlineExceeded().status);
    } else {
      RunHandler();
    }
  } catch (abi::__forced_unwind&) {
    FinishInNeed(StatusCode::UNKNOWN, kHandlerFailed);
    throw;  // pthread_cancel() and pthread_exit(): not to be stopped.
  } catch (...) {
    // Only memory can be lacking here.
    FinishInNeed(StatusCode::RESOURCE_EXHAUSTED, "no memory for an answer");
  }
}

void ServerCall::RunHandler() {
  const absl::Cleanup forget = [this] { ForgetMessages(); };
  if (!ReadRequest()) return;
  try {
    const Status status = handler_->Run(&context_, messages_.get());
    if (status.ok()) {
      Respond(*messages_->response());
    } else {
      FinishWith(status);
    }
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    FinishWith(Status(StatusCode::UNKNOWN, kHandlerFailed));
  }
}

bool ServerCall::ReadRequest() {
  bool parsed = false;
  try {
    if (messages_of_ != handler_) {
      messages_of_ = nullptr;
      messages_ = handler_->NewMessages();
      messages_of_ = handler_;
      unseen_bytes_ = 0;
    }
    parsed = ParseMessage(request_, messages_->request());
  } catch (const std::bad_alloc&) {
    request_.Clear();
    FinishWith(NoMemory("a request", request_size_).status);
    return false;
  }
  request_.Clear();  // A large one would wait for the handler.
  if (!parsed) FinishWith(Status(StatusCode::INTERNAL, ""));
  return parsed;
}

void ServerCall::Respond(const MessageLite& response) {
  const size_t size = MessageSize(response);
  response_measured_ = true;
  unseen_bytes_ += size;
  const int64_t limit = std::min(connection_.limits().send, static_cast<int64_t>(kMaxMessageSize));
  const CancelledBy by = cancelled_by();
  if (by == CancelledBy::kServer || by == CancelledBy::kShutdown) {
    FinishWith(Status::CANCELLED);
  } else if (static_cast<int64_t>(size) > limit) {
    FinishWith(MessageTooLarge("Sent", size, limit).status);
  } else if (connection_.FitsInFinish(size)) {
    connection_.SendFinishOk(*this, response, size);
  } else {
    // CANCELLED: nobody waits for the rest, the client cancelled, its deadline passed, or it is
    // gone.
    FinishWith(Status(connection_.SendMessage(*this, response, size), ""));
  }
}

// A message keeps the memory of whatever it has held, and what it holds may be a hundred times what
// it is as bytes: empty sub-messages. To measure it takes as long as to clear it, so that happens
// once per kUnseen bytes: what is kept is at most Buffer::kKept, and what kUnseen bytes can become.
void ServerCall::ForgetMessages() {
  if (messages_ == nullptr) return;
  unseen_bytes_ += request_size_;
  if (messages_of_ == nullptr) {
    messages_ = nullptr;
  } else if (unseen_bytes_ > kUnseen || !response_measured_) {
    const size_t request = MessageMemory(*messages_->request());
    const size_t response = MessageMemory(*messages_->response());
    unseen_bytes_ = 0;
    if (request > Buffer::kKept || response > Buffer::kKept) messages_ = nullptr;
  }
  response_measured_ = false;
  if (messages_ == nullptr) {
    messages_of_ = nullptr;
  } else {
    messages_->request()->Clear();
    messages_->response()->Clear();
  }
}

void ServerCall::FinishWith(const Status& status, bool not_begun) {
  connection_.SendFinish(*this, id_, Verdict(status), not_begun);
}

Status ServerCall::Verdict(const Status& status) const {
  switch (cancelled_by()) {
    case CancelledBy::kServer:
      return Status(StatusCode::CANCELLED, "Cancelled on the server side");
    case CancelledBy::kShutdown:
      return Status(StatusCode::UNAVAILABLE, "Cancelling all calls");
    case CancelledBy::kNobody:
    case CancelledBy::kClient:
      break;
  }
  // A handler that saw IsCancelled() may answer before the client's own clock has ended the call.
  return !status.ok() && deadline_.passed() ? DeadlineExceeded().status : status;
}

void ServerCall::FinishInNeed(StatusCode code, const char* text) noexcept {
  try {
    FinishWith(Status(code, text));
  } catch (...) {
    // Allocates nothing.
    connection_.SendFinish(*this, id_, Status(code, ""), /*not_begun=*/false);
  }
}

void ServerCall::TryCancel() {
  SetCancelled(CancelledBy::kServer);
  FinishWith(Status::CANCELLED);
}

system_clock::time_point ServerCall::system_deadline() {
  // relaxed: nothing else is passed on by it.
  int64_t ticks = system_deadline_.load(std::memory_order_relaxed);
  if (ticks == kUnasked) {
    const int64_t mine = SystemTime(deadline_).time_since_epoch().count();
    if (system_deadline_.compare_exchange_strong(ticks, mine, std::memory_order_relaxed)) {
      ticks = mine;
    }
  }
  return system_clock::time_point(system_clock::duration(ticks));
}

}  // namespace locket::internal
