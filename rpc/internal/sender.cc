#include "locket/rpc/internal/sender.h"

#include <algorithm>
#include <cstring>

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;
using transport::WaitResult;

uint8_t* Sender::Reserve(size_t size) {
  if (waiting_) return nullptr;                       // Keeps (2).
  if (!owed_.empty() && !SendOwed()) return nullptr;  // Keeps (3).
  return connection_.TryReserve(size);
}

SendResult Sender::WaitForRoom(size_t size, Deadline deadline, RoomWaiter& waiter) {
  // Read before any check, so that whatever changes after the check interrupts the wait.
  const uint32_t seen = connection_.interrupts();
  if (connection_.closed()) return SendResult::kClosed;
  if (waiter.GaveUp()) return SendResult::kGaveUp;
  if (deadline.passed()) return SendResult::kDeadline;
  const Deadline slice = Earlier(deadline, Deadline::AfterNanos(waiter.slice_nanos()));

  if (waiting_) {
    // Interrupt() notifies under the lock, so GaveUp() cannot have changed unseen since.
    queue_.WaitUntil(mutex_, slice);
    if (!waiting_) return SendResult::kReady;
    mutex_.Unlock();  // Keeps (1).
    waiter.BeforeWait();
    mutex_.Lock();
    return SendResult::kReady;
  }

  waiting_ = true;
  mutex_.Unlock();  // Keeps (1).
  waiter.BeforeWait();
  connection_.WaitWritable(size, slice, seen);  // Whatever the reason: the caller looks again.
  mutex_.Lock();
  waiting_ = false;
  queue_.NotifyAll();
  return SendResult::kReady;
}

bool Sender::SendOwed() {
  size_t sent = 0;
  for (; sent < owed_.size(); ++sent) {
    uint8_t* out = connection_.TryReserve(sizeof(FrameHeader));
    if (out == nullptr) break;
    std::memcpy(out, &owed_[sent], sizeof(FrameHeader));
    connection_.Commit(sizeof(FrameHeader));
  }
  owed_.erase(owed_.begin(), owed_.begin() + sent);
  // relaxed: a hint, read without the lock only to save a look.
  owes_.store(!owed_.empty(), std::memory_order_relaxed);
  return owed_.empty();
}

void Sender::SendOrOwe(const FrameHeader& frame) {
  MutexLock lock(mutex_);
  owed_.push_back(frame);
  owes_.store(true, std::memory_order_relaxed);
  // The thread that waits for room has the first right to it (2), and sends what is owed first (3).
  if (!waiting_) SendOwed();
}

void Sender::FlushOwed() {
  MutexLock lock(mutex_);
  if (!waiting_) SendOwed();
}

void Sender::Interrupt() {
  {
    MutexLock lock(mutex_);
    queue_.NotifyAll();
  }
  connection_.Interrupt();
}

}  // namespace locket::internal
