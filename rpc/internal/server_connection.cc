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
  return id < table_.size() ? table_[id] : nullptr;
}

bool ServerConnection::IsRegistered(const ServerCall& call) {
  MutexLock lock(mutex_);
  return table_[call.id()] == &call;
}

bool ServerConnection::Unregister(ServerCall& call) {
  MutexLock lock(mutex_);
  ServerCall*& slot = table_[call.id()];
  if (slot != &call) return false;
  slot = nullptr;
  return true;
}

void ServerConnection::StartRunning(ServerCall& call) {
  call.running = true;
  ++running_;
}

void ServerConnection::Recycle(ServerCall& call) {
  Owner& owner = owner_;  // `this` may be gone once the lock is free.
  mutex_.Lock();
  call.running = false;
  if (table_[call.id()] == &call) table_[call.id()] = nullptr;  // Not answered: an Owner's bug.
  free_calls_.push_back(&call);
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
  for (ServerCall*& call : table_) {
    if (call == nullptr) continue;
    if (call->running) {
      call->SetCancelled();
    } else {
      free_calls_.push_back(call);
      call = nullptr;
    }
  }
  return running_ == 0;
}

int ServerConnection::running() {
  MutexLock lock(mutex_);
  return running_;
}

void ServerConnection::CancelCalls(const Status& status, Deadline deadline) {
  std::vector<uint32_t> ids;
  {
    MutexLock lock(mutex_);
    for (ServerCall*& call : table_) {
      if (call == nullptr || !call->running) continue;
      call->SetCancelled();
      ids.push_back(call->id());
      call = nullptr;  // Takes the right to answer.
    }
  }
  sender_.Interrupt();  // Responses that wait for room see that they are cancelled.
  for (const uint32_t id : ids) SendFinish(id, status, false, deadline);
}

void ServerConnection::Close(const char* reason) {
  connection_->Close(absl::UnavailableError(reason));
}

}  // namespace locket::internal
