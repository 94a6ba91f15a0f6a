#include "locket/transport/internal/epoll_wait_set.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/errno_status.h"

namespace locket::transport::internal {
namespace {

// Connections that are polled at once; what goes beyond is parked again.
constexpr size_t kMaxHot = 8;

// How often a thread that finds hot connections busy looks at the parked ones. It reads the clock
// for that every few waits: fewer while a wait's work takes long.
constexpr int64_t kPollNanos = 50'000;
constexpr uint32_t kMaxWaitsPerClock = 64;

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
  auto entry = std::make_unique<Entry>(this, shm, tag);
  Entry* const added = entry.get();
  struct epoll_event event = {};
  event.events = kDoorbellEvents;
  event.data.ptr = added;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, shm->doorbell(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl(EPOLL_CTL_ADD) of a doorbell");
  }
  entries_.emplace(connection, std::move(entry));
  shm->SetEndListener(added);
  // The waiting thread makes it hot, and parks it when it is silent: a record that came before is
  // not overlooked.
  LookAt(added);
  return absl::OkStatus();
}

void EpollWaitSet::Remove(Connection* connection) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(connection);
  if (found == entries_.end()) return;
  Entry* const entry = found->second.get();
  entry->connection->SetEndListener(nullptr);
  // Not in a forked child, whose epoll is the parent's.
  if (owner_ == getpid()) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->connection->doorbell(), nullptr);
  }
  {
    MutexLock list_lock(list_mutex_);
    to_look_at_.erase(std::remove(to_look_at_.begin(), to_look_at_.end(), entry),
                      to_look_at_.end());
  }
  hot_.erase(std::remove(hot_.begin(), hot_.end(), entry), hot_.end());
  entries_.erase(found);
}

void EpollWaitSet::LookAt(Entry* entry) {
  {
    MutexLock lock(list_mutex_);
    to_look_at_.push_back(entry);
  }
  WriteWaker();
}

void EpollWaitSet::Wake() {
  woken_.store(true, std::memory_order_seq_cst);
  WriteWaker();
}

void EpollWaitSet::WriteWaker() {
  const uint64_t one = 1;
  // It cannot be full: the waiting thread reads it, and it takes 2^64 - 2.
  [[maybe_unused]] const ssize_t written = write(waker_.get(), &one, sizeof(one));
}

EpollWaitSet::Entry* EpollWaitSet::NextReady() {
  for (size_t i = 0; i < hot_.size(); ++i) {
    if (turn_ >= hot_.size()) turn_ = 0;
    Entry* const entry = hot_[turn_++];
    if (!entry->connection->Readable()) continue;
    entry->rings_in_vain = 0;
    return entry;
  }
  return nullptr;
}

// The hot connection that is worth the longest spin; null if none is.
const ShmConnection* EpollWaitSet::Spinner() const {
  const ShmConnection* longest = nullptr;
  for (const Entry* entry : hot_) {
    // Not for a bell that rings in vain: that would be a client's way to our CPU.
    if (entry->rings_in_vain > 1) continue;
    if (longest == nullptr || entry->connection->spin_nanos() > longest->spin_nanos()) {
      longest = entry->connection;
    }
  }
  return longest;
}

// Parks the connection at hot_[place]; false if it has something to read after all.
bool EpollWaitSet::Park(size_t place) {
  Entry* const entry = hot_[place];
  if (!entry->connection->ParkReader()) return false;
  entry->hot = false;
  hot_[place] = hot_.back();
  hot_.pop_back();
  return true;
}

// Parks every hot connection; false if one of them has something to read after all.
bool EpollWaitSet::ParkAll() {
  while (!hot_.empty()) {
    if (!Park(hot_.size() - 1)) return false;
  }
  return true;
}

// Parks the silent ones of too many hot connections.
void EpollWaitSet::Demote() {
  for (size_t i = 0; i < hot_.size() && hot_.size() > kMaxHot;) {
    if (!Park(i)) ++i;
  }
}

void EpollWaitSet::MakeHot(Entry* entry) {
  entry->connection->UnparkReader();
  if (entry->hot) return;
  entry->hot = true;
  hot_.push_back(entry);
}

// Makes hot what rang or is to be looked at, waiting until the deadline at most.
void EpollWaitSet::Poll(Deadline deadline) {
  struct epoll_event events[64];
  const int count = epoll_wait(epoll_.get(), events, 64, TimeoutMillis(deadline));
  for (int i = 0; i < count; ++i) {
    auto* const entry = static_cast<Entry*>(events[i].data.ptr);
    if (entry != nullptr) {
      if (++entry->rings_in_vain > kMaxVainWakes) {
        entry->connection->Close(absl::InternalError(
            absl::StrCat("the client rang more than ", kMaxVainWakes, " times without a record")));
      }
      MakeHot(entry);
      continue;
    }
    uint64_t writes;
    [[maybe_unused]] const ssize_t taken = read(waker_.get(), &writes, sizeof(writes));
    MutexLock lock(list_mutex_);
    for (Entry* each : to_look_at_) MakeHot(each);
    to_look_at_.clear();
  }
}

// Looks at the parked connections now and then, however busy the hot ones are.
void EpollWaitSet::PollIfDue() {
  const int64_t now = MonotonicNanos();
  const bool due = now - polled_at_ >= kPollNanos;
  waits_allowed_ = due ? 1 : std::min(2 * waits_allowed_, kMaxWaitsPerClock);
  waits_left_ = waits_allowed_;
  if (!due) return;
  polled_at_ = now;
  Poll(Deadline::AtNanos(0));
  Demote();
}

bool EpollWaitSet::TakeWake() {
  return woken_.load(std::memory_order_relaxed) &&  // relaxed: the exchange acquires.
         woken_.exchange(false, std::memory_order_acquire);
}

void* EpollWaitSet::Wait(Deadline deadline) {
  if (waits_left_-- == 0) PollIfDue();
  for (;;) {
    const ShmConnection* const spinner = Spinner();
    // A copy: a connection that is removed meanwhile takes its options with it.
    const SpinOptions options = spinner != nullptr ? spinner->spin() : SpinOptions();
    Spin spin(tuner_, options, spinner != nullptr ? spinner->spin_nanos() : 0);
    do {
      if (TakeWake()) return nullptr;
      if (Entry* const ready = NextReady()) {
        spin.Found();
        return ready->tag;
      }
      if (!spin.at_clock()) continue;
      if (deadline.passed()) return nullptr;
      PollIfDue();
    } while (spin.Continue());

    spin.BeforeSleep();
    if (!ParkAll()) continue;
    if (deadline.passed()) return nullptr;
    // seq_cst, as in parked(): by it the server's standby decides whether to sleep.
    parked_.store(true, std::memory_order_seq_cst);
    // A Wake() that comes after this look has written the waker, which epoll reports.
    if (!woken_.load(std::memory_order_seq_cst)) Poll(deadline);
    parked_.store(false, std::memory_order_seq_cst);
    if (!hot_.empty()) spin.Found();
  }
}

}  // namespace locket::transport::internal
