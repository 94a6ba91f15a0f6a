// The life of calls and ids on the client's end of a connection.
#include "locket/rpc/internal/client_connection.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/record_writing.h"

namespace locket::internal {

using transport::MutexLock;

namespace {

std::string DescribePeer(const std::string& target, const transport::PeerIdentity& peer) {
  return absl::StrCat(target, " (pid ", peer.pid, ", uid ", peer.uid, ")");
}

}  // namespace

ClientConnection* ClientConnection::Make(transport::Mutex& mutex, ClientCallPool& pool,
                                         std::unique_ptr<transport::Connection> connection,
                                         const Agreement& agreement, const MessageLimits& limits,
                                         const std::string& target) {
  return new ClientConnection(mutex, pool, std::move(connection), agreement, limits, target);
}

ClientConnection::ClientConnection(transport::Mutex& mutex, ClientCallPool& pool,
                                   std::unique_ptr<transport::Connection> connection,
                                   const Agreement& agreement, const MessageLimits& limits,
                                   const std::string& target)
    : connection_(std::move(connection)),
      agreement_(agreement),
      limits_(limits),
      peer_(DescribePeer(target, connection_->peer())),
      sender_(*connection_),
      bindings_(agreement.bound_methods),
      mutex_(mutex),
      pool_(pool) {}

ClientConnection::~ClientConnection() {
  connection_->Close(absl::UnavailableError("the client left"));
}

void ClientConnection::Drop() {
  mutex_.Lock();
  UnlockAndDrop();
}

void ClientConnection::UnlockAndDrop() {
  const bool last = --holds_ == 0;
  if (last) {
    for (ClientCall* call : slots_) {
      if (call != nullptr) pool_.Give(*call);  // Abandoned.
    }
  }
  mutex_.Unlock();
  if (last) delete this;
}

ClientCall& ClientConnection::NewCall(size_t size, bool* has_id) {
  ClientCall& call = pool_.Take();
  call.Reset(*this);
  call.owned = true;
  call.Start(Operation::kGetId);
  call.Start(Operation::kReceiveMessage);
  call.Start(Operation::kReceiveStatus);
  if (ended_) {
    call.End(ConnectionEnded(connection_->status(), peer_));
  } else if (!free_ids_.empty()) {
    const uint32_t id = free_ids_.back();
    free_ids_.pop_back();
    GiveId(call, id);
  } else if (slots_.size() < agreement_.calls_in_flight) {
    slots_.push_back(nullptr);
    GiveId(call, static_cast<uint32_t>(slots_.size() - 1));
  } else {
    without_id_.push_back(&call);
  }
  *has_id = call.id != ClientCall::kNoId;
  if (*has_id && !reading_ && size <= kBuiltPrivately) {  // Keeps (2).
    reading_ = true;
    call.leads = true;
  }
  ++holds_;  // After everything that may throw.
  return call;
}

void ClientConnection::GiveId(ClientCall& call, uint32_t id) {
  call.id = id;
  slots_[id] = &call;
  call.Complete(Operation::kGetId);
}

// True while frames of this call may come: its slot must stay.
bool ClientConnection::PeerMayAnswer(const ClientCall& call) const {
  return call.start_sent.load(std::memory_order_acquire) && !call.finish_received && !ended_;
}

void ClientConnection::Leave(ClientCall& call) {
  call.outgoing.Clear();  // Large memory goes back now, and not with the next call.
  GiveUpRole(call);
  mutex_.Lock();
  if (PeerMayAnswer(call)) {
    // The id is still this call's, whatever is filed meanwhile, because the owner is: so this
    // CANCEL cannot hit another call. Keeps (4).
    const FrameHeader cancel = MakeCancel(call.id);
    mutex_.Unlock();
    sender_.SendOrOwe(cancel);
    // A reader that sleeps has looked already whether anything is owed.
    if (sender_.owes()) connection_->Interrupt();
    mutex_.Lock();
  }
  call.owned = false;
  if (!PeerMayAnswer(call)) {
    call.message.Clear();
    FreeSlot(call);
  } else if (!call.filling) {
    call.message.Clear();  // Nobody will read it.
  }
  UnlockAndDrop();
}

// Back to the pool, and the id to whoever waits for one.
void ClientConnection::FreeSlot(ClientCall& call) {
  if (call.id == ClientCall::kNoId) {
    // It ended before it had an id.
    without_id_.erase(std::remove(without_id_.begin(), without_id_.end(), &call),
                      without_id_.end());
  } else {
    slots_[call.id] = nullptr;
    if (without_id_.empty()) {
      free_ids_.push_back(call.id);
    } else {
      ClientCall& next = *without_id_.front();
      without_id_.pop_front();
      GiveId(next, call.id);
      // Its owner may be the reader, asleep over a ring in which nothing is due. Keeps (3).
      if (reading_) connection_->Interrupt();
    }
  }
  pool_.Give(call);
}

void ClientConnection::EndAllCalls() {
  if (ended_) return;
  ended_ = true;
  const absl::Status status = connection_->status();
  for (ClientCall* call : without_id_) call->End(ConnectionEnded(status, peer_));
  without_id_.clear();
  for (ClientCall* call : slots_) {
    if (call == nullptr) continue;
    if (call->owned) {
      call->End(ConnectionEnded(status, peer_));
    } else {
      slots_[call->id] = nullptr;
      pool_.Give(*call);
    }
  }
}

void ClientConnection::Cancel(ClientCall& call) {
  {
    MutexLock lock(mutex_);
    call.SetCancelRequested();
  }
  sender_.Interrupt();  // The owner may be waiting for a record, or for room.
}

}  // namespace locket::internal
