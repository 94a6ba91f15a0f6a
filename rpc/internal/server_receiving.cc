// What the server makes of the frames it reads. All of it runs in the reading role.
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/call_outcome.h"
#include "locket/rpc/internal/server_connection.h"
#include "locket/transport/log.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;
using transport::ReadResult;

namespace {

Deadline DeadlineOf(uint64_t timeout_ns) {
  if (timeout_ns == 0 || timeout_ns > INT64_MAX) return Deadline::Infinite();
  return Deadline::AfterNanos(static_cast<int64_t>(timeout_ns));
}

Status ShuttingDown() { return Status(StatusCode::UNAVAILABLE, "Server is shutting down"); }

}  // namespace

Readable::Work* ServerConnection::Read(bool* ended) {
  transport::Record record;
  switch (connection_->TryReceive(&record)) {
    case ReadResult::kEmpty:
      return nullptr;
    case ReadResult::kEnd:
      *ended = true;
      return nullptr;
    case ReadResult::kRecord:
      break;
  }
  Frame frame;
  std::string violation;
  Readable::Work* work = nullptr;
  if (DecodeFrame(record.data, record.size, &frame, &violation) == Decoded::kFrame) {
    work = Take(frame, &violation);
  }
  // Whatever is needed of it has been copied.
  connection_->Release();
  if (!violation.empty()) {
    const transport::PeerIdentity& peer = connection_->peer();
    const std::string reason =
        absl::StrCat("client pid ", peer.pid, " uid ", peer.uid, " sent ", violation);
    Log(LogSeverity::kWarning, absl::StrCat("connection closed: ", reason));
    connection_->Close(absl::InternalError(reason));
    *ended = true;
  }
  return work;
}

Readable::Work* ServerConnection::Take(const Frame& frame, std::string* violation) {
  switch (frame.type) {
    case FrameType::kStart:
      return TakeStart(frame, violation);
    case FrameType::kContinue:
      return TakeContinue(frame, violation);
    case FrameType::kCancel:
      return TakeCancel(frame);
    case FrameType::kMessage:  // Reserved for streams.
    case FrameType::kFinish:
    case FrameType::kGoAway:
    default:
      *violation = "a frame that only servers send";
      return nullptr;
  }
}

// False: a violation. Otherwise *handler is null if the server has no such method.
bool ServerConnection::FindHandler(const Frame& frame, UnaryHandler** handler,
                                   std::string* violation) {
  if ((frame.flags & kFlagMethodName) == 0) {
    if (frame.method >= bound_.size()) {
      *violation = absl::StrCat("method number ", frame.method, ", of ", bound_.size(), " bound");
      return false;
    }
    *handler = bound_[frame.method];
    return true;
  }
  // Copied out of shared memory before it is looked up.
  const std::string name(reinterpret_cast<const char*>(frame.name.data), frame.name.size);
  *handler = methods_.Find(name);
  if (frame.method == kUnboundMethod) return true;
  if (frame.method != bound_.size() || frame.method >= agreement_.bound_methods) {
    *violation = absl::StrCat("a name for method number ", frame.method, ", where ", bound_.size(),
                              " of ", agreement_.bound_methods, " are bound");
    return false;
  }
  bound_.push_back(*handler);
  return true;
}

Readable::Work* ServerConnection::TakeStart(const Frame& frame, std::string* violation) {
  if ((frame.flags & kFlagEnd) == 0) {
    *violation = "a START without END";
    return nullptr;
  }
  if (frame.call_id >= agreement_.calls_in_flight) {
    *violation = absl::StrCat("a START of call ", frame.call_id, ", of ",
                              agreement_.calls_in_flight, " in flight");
    return nullptr;
  }
  UnaryHandler* handler = nullptr;
  if (!FindHandler(frame, &handler, violation)) return nullptr;

  ServerCall* call;
  bool running;  // Its request is whole already, or will never be looked at.
  {
    MutexLock lock(mutex_);
    if (frame.call_id >= table_.size()) table_.resize(frame.call_id + 1, nullptr);
    if (Find(frame.call_id) != nullptr) {
      *violation = absl::StrCat("a START of call ", frame.call_id, ", which is in use");
      return nullptr;
    }
    if (free_calls_.empty()) {
      calls_.push_back(std::make_unique<ServerCall>(*this));
      free_calls_.reserve(calls_.capacity());  // For Recycle().
      free_calls_.push_back(calls_.back().get());
    }
    call = free_calls_.back();
    free_calls_.pop_back();
    call->Reset(frame.call_id, handler, DeadlineOf(frame.timeout_ns), frame.message_size);

    if (owner_.draining()) {
      call->Refuse(ShuttingDown(), /*not_begun=*/true);
    } else if (handler == nullptr) {
      call->Refuse(Status(StatusCode::UNIMPLEMENTED, ""));
    } else if ((frame.flags & kFlagMessage) == 0) {
      call->Refuse(Status(StatusCode::INTERNAL, ""));
    } else if (int64_t{frame.message_size} > limits_.receive) {
      call->Refuse(MessageTooLarge("Received", frame.message_size, limits_.receive).status);
    }
    table_[frame.call_id] = call;
    call->Open(frame.call_id);
    running = call->refused() || frame.message.size == frame.message_size;
    if (running) StartRunning(*call);
  }
  if (call->refused()) return call;
  return TakeBytes(*call, frame.message, running);
}

Readable::Work* ServerConnection::TakeContinue(const Frame& frame, std::string* violation) {
  ServerCall* call;
  {
    MutexLock lock(mutex_);
    call = Find(frame.call_id);
    // Sent before the client had read the FINISH; or refused, and about to be answered.
    if (call == nullptr || (call->running && call->refused())) return nullptr;
    if (call->running || frame.message.size > call->missing_bytes()) {
      *violation = absl::StrCat("more bytes than announced in call ", frame.call_id);
      return nullptr;
    }
  }
  return TakeBytes(*call, frame.message, /*running=*/false);
}

// Adds to the request of a call. Returns the call once it is to run.
Readable::Work* ServerConnection::TakeBytes(ServerCall& call, Bytes bytes, bool running) {
  const bool stored = call.Append(bytes.data, bytes.size);
  if (!stored) call.Refuse(NoMemory("a request", call.request_size()).status);
  if (running) return &call;
  if (stored && call.missing_bytes() > 0) return nullptr;
  MutexLock lock(mutex_);
  if (stored && owner_.draining()) call.Refuse(ShuttingDown(), /*not_begun=*/true);
  StartRunning(call);
  return &call;
}

Readable::Work* ServerConnection::TakeCancel(const Frame& frame) {
  ServerCall* work = nullptr;
  {
    MutexLock lock(mutex_);
    ServerCall* call = Find(frame.call_id);
    if (call == nullptr) return nullptr;  // The FINISH is on its way.
    call->SetCancelled(CancelledBy::kClient);
    if (!call->running) {  // The rest of its request will not come.
      call->Refuse(Cancelled().status);
      StartRunning(*call);
      work = call;
    }
  }
  if (work == nullptr) sender_.Interrupt();  // Its response may be waiting for room.
  return work;
}

}  // namespace locket::internal
