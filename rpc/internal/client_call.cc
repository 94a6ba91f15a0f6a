#include "locket/rpc/internal/client_call.h"

#include "locket/rpc/internal/client_connection.h"

namespace locket::internal {

namespace {
// How long a sender that waits for room leaves the other ring unread, if nobody else reads it.
constexpr int64_t kReadEveryNanos = 1'000'000;
}  // namespace

void ClientCall::Reset(ClientConnection& connection) {
  connection_ = &connection;
  progress_.fill(Progress::kIdle);
  outcome_ = CallOutcome();
  message.Clear();
  outgoing.Clear();
  open_bytes_ = 0;
  messages_ = 0;
  filling = false;
  cancel_requested_ = false;
  // relaxed: the new owner is not sending yet.
  stop_sending_.store(false, std::memory_order_relaxed);
  id = kNoId;
  finish_received = false;
  leads = false;
  start_sent.store(false, std::memory_order_relaxed);  // relaxed: in no slot.
}

void ClientCall::Complete(Operation operation) {
  if (!pending(operation)) return;
  progress(operation) = Progress::kDone;
  if (asleep) wake.NotifyOne();
}

void ClientCall::End(CallOutcome&& how) {
  if (ended()) return;
  outcome_ = std::move(how);
  for (Progress& each : progress_) {
    if (each == Progress::kPending) each = Progress::kDone;
  }
  stop_sending_.store(true, std::memory_order_release);  // [stop]
  if (asleep) wake.NotifyOne();
}

bool ClientCall::BeginMessage(uint32_t size) {
  if (open_bytes_ != 0) return false;
  open_bytes_ = size;
  ++messages_;
  return true;
}

void ClientCall::TookBytes(size_t size) {
  open_bytes_ -= size;
  // Nobody waits for the message alone yet: its FINISH is on the way, and wakes the owner.
  if (open_bytes_ == 0) progress(Operation::kReceiveMessage) = Progress::kDone;
}

void ClientCall::RequestCancel() { connection_->Cancel(*this); }

void ClientCall::SetCancelRequested() {
  cancel_requested_ = true;
  stop_sending_.store(true, std::memory_order_release);  // [stop]
  if (asleep) wake.NotifyOne();
}

void ClientCall::BeforeWait() { connection_->ReadWithoutWaiting(); }

int64_t ClientCall::slice_nanos() const { return kReadEveryNanos; }

void ClientCallList::PushBack(ClientCall& call) {
  call.previous = last_;
  call.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &call;
  last_ = &call;
}

void ClientCallList::Remove(ClientCall& call) {
  (call.previous != nullptr ? call.previous->next : first_) = call.next;
  (call.next != nullptr ? call.next->previous : last_) = call.previous;
  call.previous = nullptr;
  call.next = nullptr;
}

}  // namespace locket::internal
