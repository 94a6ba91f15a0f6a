#include "locket/rpc/internal/server_threads.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "locket/transport/log.h"
#include "locket/transport/thread.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;

namespace {
constexpr std::chrono::seconds kIdleThreadEnds(5);
}

absl::StatusOr<std::unique_ptr<ServerThreads>> ServerThreads::Start(Readable& readable) {
  absl::StatusOr<std::unique_ptr<Tick>> tick = Tick::Create();
  if (!tick.ok()) return tick.status();
  std::unique_ptr<ServerThreads> threads(new ServerThreads(readable, *std::move(tick)));
  for (const Part part : {Part::kStandby, Part::kOwner}) {
    absl::Status status = threads->Spawn(part);
    if (!status.ok()) {
      threads->Stop();
      return status;
    }
  }
  return threads;
}

ServerThreads::~ServerThreads() { Stop(); }

void ServerThreads::Stop() {
  stopping_.store(true, std::memory_order_release);  // For stopping().
  readable_.Wake();
  tick_->Ring();
  std::list<std::thread> over;
  {
    MutexLock lock(mutex_);
    wanted_.NotifyAll();
    while (alive_ > 0) ended_.Wait(mutex_);
    over.swap(over_);
  }
  for (std::thread& thread : over) thread.join();
}

absl::Status ServerThreads::Spawn(Part part) {
  std::list<std::thread> over;
  {
    MutexLock lock(mutex_);
    over.swap(over_);
    threads_.emplace_back();
    const auto self = std::prev(threads_.end());
    // Under the lock: the thread may end before its handle is in its place.
    absl::StatusOr<std::thread> thread =
        transport::StartThread("locket-server", [this, part, self] {
          const absl::Cleanup end = [this, self] {  // Also when a handler calls pthread_exit().
            MutexLock lock(mutex_);
            over_.splice(over_.end(), threads_, self);
            --alive_;
            ended_.NotifyAll();
          };
          Body(part);
        });
    if (!thread.ok()) {
      threads_.erase(self);
      return thread.status();
    }
    *self = *std::move(thread);
    ++alive_;
  }
  for (std::thread& thread : over) thread.join();  // They have ended, or are just about to.
  return absl::OkStatus();
}

void ServerThreads::Body(Part part) {
  while (part != Part::kEnd) part = part == Part::kOwner ? Own() : StandBy();
}

// Reads until the reading is lost to the standby, or the server stops.
ServerThreads::Part ServerThreads::Own() {
  while (!stopping()) {
    Readable::Work* work = readable_.Read();
    if (work == nullptr) continue;
    const uint64_t offered = role_.Offer();
    tick_->Arm();
    work->Run();
    if (!role_.Reclaim(offered)) return Idle();
  }
  return Part::kEnd;
}

ServerThreads::Part ServerThreads::StandBy() {
  // What the word was at the last tick. Not offered to begin with: a new standby watches a whole
  // tick before it takes over.
  uint64_t seen = 0;
  while (true) {
    tick_->Wait();
    if (stopping()) return Part::kEnd;
    const uint64_t word = role_.word();
    if (word == seen && role_.TakeOver(word)) {
      ReplaceStandby();
      return Part::kOwner;
    }
    if (readable_.parked()) {
      tick_->Disarm();
      if (!readable_.parked()) tick_->Arm();  // Tick, invariant (2).
      if (stopping()) return Part::kEnd;      // Its Ring() may just have been disarmed.
    }
    seen = word;
  }
}

// Keeps (1).
void ServerThreads::ReplaceStandby() {
  {
    MutexLock lock(mutex_);
    if (idle_ > 0) {
      standby_wanted_ = true;
      wanted_.NotifyOne();
      return;
    }
  }
  const absl::Status status = Spawn(Part::kStandby);
  if (status.ok()) return;
  Log(LogSeverity::kWarning,
      absl::StrCat("a handler that blocks now stops its server: ", std::string(status.message())));
  MutexLock lock(mutex_);
  standby_wanted_ = true;
}

ServerThreads::Part ServerThreads::Idle() {
  const Deadline until = Deadline::After(kIdleThreadEnds);
  MutexLock lock(mutex_);
  ++idle_;
  bool in_time = true;
  while (!standby_wanted_ && !stopping() && in_time) in_time = wanted_.WaitUntil(mutex_, until);
  --idle_;
  if (!standby_wanted_ || stopping()) return Part::kEnd;
  standby_wanted_ = false;  // Keeps (2).
  return Part::kStandby;
}

}  // namespace locket::internal
