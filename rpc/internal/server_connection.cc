// The life of calls and ids on the server's end of a connection.
#include "locket/rpc/internal/server_connection.h"

#include <utility>

#include "absl/status/status.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;

ServerConnection::ServerConnection(Owner& owner, std::unique_ptr<transport::Connection> connection,
                                   const Agreement& agreement, const ServiceMethods& methods,
                                   const ServerLimits& limits)
    : owner_(owner),
      connection_(std::move(connection)),
      agreement_(agreement),
      methods_(methods),
      limits_(limits),
      sender_(*connection_) {}

ServerCall* ServerConnection::Find(uint32_t id) {
  ServerCall* const call = id < table_.size() ? table_[id] : nullptr;
  return call != nullptr && call->IsOpen(id) ? call : nullptr;  // Keeps (4).
}

void ServerConnection::StartRunning(ServerCall& call) {
  call.running = true;
  ++running_;
}

void ServerConnection::Recycle(ServerCall& call) {
  Owner& owner = owner_;  // `this` may be gone once the lock is free.
  mutex_.Lock();
  call.running = false;
  call.Close(call.id());         // Not answered if the connection has ended, or is just about to.
  free_calls_.push_back(&call);  // There is room: TakeStart().
  const bool over = --running_ == 0 && ended_;
  mutex_.Unlock();
  if (over) {
    owner.ConnectionIsOver(this);
  } else if (owner.draining()) {
    owner.CallReturned();
  }
}

bool ServerConnection::End() {
  MutexLock lock(mutex_);
  ended_ = true;
  for (uint32_t id = 0; id < table_.size(); ++id) {
    ServerCall* const call = Find(id);
    if (call == nullptr) continue;
    if (call->running) {
      call->SetCancelled(CancelledBy::kClient);
    } else {
      call->Close(id);
      free_calls_.push_back(call);
    }
  }
  return running_ == 0;
}

int ServerConnection::running() {
  MutexLock lock(mutex_);
  return running_;
}

void ServerConnection::CancelCalls(Deadline deadline) {
  struct Cancelled {
    ServerCall* call;
    uint32_t id;
    Status status;
  };
  std::vector<Cancelled> calls;
  {
    MutexLock lock(mutex_);
    for (uint32_t id = 0; id < table_.size(); ++id) {
      ServerCall* const call = Find(id);
      if (call == nullptr || !call->running) continue;
      call->SetCancelled(CancelledBy::kShutdown);
      // Asked for here: without the lock the call may be another one soon.
      calls.push_back({call, id, call->Verdict(Status::CANCELLED)});
    }
  }
  sender_.Interrupt();  // Responses that wait for room see that they are cancelled.
  for (const auto& [call, id, status] : calls) SendFinish(*call, id, status, false, deadline);
}

void ServerConnection::Close(const char* reason) {
  connection_->Close(absl::UnavailableError(reason));
}

}  // namespace locket::internal
