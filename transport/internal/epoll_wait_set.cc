#include "locket/transport/internal/epoll_wait_set.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/spin.h"

namespace locket::transport::internal {
namespace {

// Connections that are polled at once; what goes beyond is parked again.
constexpr size_t kMaxHot = 8;

// How often a thread that finds hot connections busy looks at the parked ones, and after how many
// waits that found something at once it reads the clock for that.
constexpr int64_t kPollNanos = 50'000;
constexpr uint32_t kWaitsPerClock = 64;

int TimeoutMillis(Deadline deadline) {
  if (deadline.infinite()) return -1;
  // Rounded up, so that a wait does not spin through its last millisecond.
  return static_cast<int>(
      std::min<int64_t>((deadline.nanos_left() + 999'999) / 1'000'000, 1 << 30));
}

}  // namespace

absl::Status EpollWaitSet::Add(Connection* connection, void* tag) {
  auto* const shm = static_cast<ShmConnection*>(connection);
  MutexLock lock(mutex_);
  auto entry = std::make_unique<Entry>(Entry{shm, tag});
  struct epoll_event event = {};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = entry.get();
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, shm->doorbell(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl(EPOLL_CTL_ADD) of a doorbell");
  }
  entries_.emplace(connection, std::move(entry));
  // The waiting thread makes it hot, and parks it when it is silent: a record that came before is
  // not overlooked.
  shm->RingOwnDoorbell();
  return absl::OkStatus();
}

void EpollWaitSet::Remove(Connection* connection) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(connection);
  if (found == entries_.end()) return;
  Entry* const entry = found->second.get();
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->connection->doorbell(), nullptr);
  hot_.erase(std::remove(hot_.begin(), hot_.end(), entry), hot_.end());
  entries_.erase(found);
}

void EpollWaitSet::Wake() {
  woken_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(waker_.get(), &one, sizeof(one));
}

EpollWaitSet::Entry* EpollWaitSet::NextReady() {
  for (size_t i = 0; i < hot_.size(); ++i) {
    if (turn_ >= hot_.size()) turn_ = 0;
    Entry* const entry = hot_[turn_++];
    if (entry->connection->Readable()) return entry;
  }
  return nullptr;
}

int64_t EpollWaitSet::SpinNanos() const {
  int64_t nanos = 0;
  for (const Entry* entry : hot_) nanos = std::max(nanos, entry->connection->spin_nanos());
  return nanos;
}

// Parks every hot connection; false if one of them has something to read after all.
bool EpollWaitSet::ParkAll() {
  for (size_t i = 0; i < hot_.size();) {
    if (!hot_[i]->connection->ParkReader()) return false;
    hot_[i]->hot = false;
    hot_[i] = hot_.back();
    hot_.pop_back();
  }
  return true;
}

// Parks the silent ones of too many hot connections.
void EpollWaitSet::Demote() {
  for (size_t i = 0; i < hot_.size() && hot_.size() > kMaxHot;) {
    if (!hot_[i]->connection->ParkReader()) {
      ++i;
      continue;
    }
    hot_[i]->hot = false;
    hot_[i] = hot_.back();
    hot_.pop_back();
  }
}

// Makes hot what epoll reports, waiting until the deadline at most.
void EpollWaitSet::Poll(Deadline deadline) {
  struct epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, 64, TimeoutMillis(deadline));
  for (int i = 0; i < count; ++i) {
    auto* const entry = static_cast<Entry*>(events[i].data.ptr);
    if (entry == nullptr) continue;  // The waker, whose flag tells all.
    entry->connection->UnparkReader();
    if (entry->hot) continue;
    entry->hot = true;
    hot_.push_back(entry);
  }
}

// Looks at the parked connections now and then, however busy the hot ones are.
void EpollWaitSet::PollIfDue() {
  const int64_t now = MonotonicNanos();
  if (now - polled_at_ < kPollNanos) return;
  polled_at_ = now;
  Poll(Deadline::AtNanos(0));
  Demote();
}

bool EpollWaitSet::TakeWake() {
  return woken_.load(std::memory_order_relaxed) &&  // relaxed: the exchange acquires.
         woken_.exchange(false, std::memory_order_acquire);
}

void* EpollWaitSet::Wait(Deadline deadline) {
  if (++waits_ % kWaitsPerClock == 0) PollIfDue();
  for (;;) {
    Spin spin(SpinNanos());
    do {
      if (Entry* const ready = NextReady()) return ready->tag;
      if (TakeWake()) return nullptr;
      if (!spin.at_clock()) continue;
      if (deadline.passed()) return nullptr;
      PollIfDue();
    } while (spin.Continue());

    if (!ParkAll()) continue;
    if (deadline.passed()) return nullptr;
    // seq_cst, as in parked(): by it the server's standby decides whether to sleep.
    parked_.store(true, std::memory_order_seq_cst);
    // A Wake() that comes after this look has written the waker, which epoll reports.
    if (!woken_.load(std::memory_order_seq_cst)) Poll(deadline);
    parked_.store(false, std::memory_order_seq_cst);
  }
}

}  // namespace locket::transport::internal
