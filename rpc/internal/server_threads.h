// The threads of a server: one reads and runs handlers, one stands by, others as handlers block.
#ifndef LOCKET_RPC_INTERNAL_SERVER_THREADS_H_
#define LOCKET_RPC_INTERNAL_SERVER_THREADS_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/rpc/internal/reading_role.h"
#include "locket/rpc/internal/tick.h"
#include "locket/transport/mutex.h"

namespace locket::internal {

// What the threads do; ServerCore in a server, a script in tests.
class Readable {
 public:
  // A thing to be run outside the reading role: it may block, for as long as it likes.
  class Work {
   public:
    // Throws nothing. pthread_exit() may end the thread in it: then the standby takes over.
    virtual void Run() = 0;

   protected:
    ~Work() = default;
  };

  // In the role: waits for a record, takes it, and returns what it asks for; null if nothing, or if
  // Wake() was called.
  virtual Work* Read() = 0;

  // Makes the current Read(), or else the next one, return.
  virtual void Wake() = 0;

  // Whether the owner sleeps in Read(). seq_cst, as is what Read() does to it: class Tick, (2).
  virtual bool parked() const = 0;

 protected:
  ~Readable() = default;
};

// Each thread is one of these:
//
//   owner    reads, and runs what it reads, offering the reading meanwhile (ReadingRole). When it
//            comes back and the reading is gone, it joins the pool.
//   standby  sleeps on the Tick. At each tick: if a handler has been running since the last one, it
//            takes the reading over, and another thread becomes the standby (an idle one or a new
//            one). If the owner is parked it disarms the tick: an idle server uses no CPU.
//   handler  still runs a handler, and is no longer the owner.
//   idle     in the pool; ends after a few seconds without use.
//
// So a blocked handler holds up others for one to two milliseconds, and any number of handlers may
// block. Threads are unbounded, as in gRPC.
//
// Thread safety: Stop() from any thread but its own, as often as wanted; everything else is its
// threads' own business.
//
// Invariants:
// (1) There is a standby, or a thread is on its way to become one, or standby_wanted_ is set (also
//     when the system gave no thread), and the next thread that joins the pool becomes it.
// (2) An idle thread looks at standby_wanted_ after each sleep, under the lock, before it ends: a
//     wake-up that meets its timeout is not lost.
class ServerThreads {
 public:
  // Starts the owner and the standby.
  static absl::StatusOr<std::unique_ptr<ServerThreads>> Start(Readable& readable);

  // Stops reading; returns when all work has returned and all threads have ended. Not to be called
  // by work.
  void Stop();

  ~ServerThreads();
  ServerThreads(const ServerThreads&) = delete;
  ServerThreads& operator=(const ServerThreads&) = delete;

 private:
  enum class Part { kOwner, kStandby, kEnd };

  ServerThreads(Readable& readable, std::unique_ptr<Tick> tick)
      : readable_(readable), tick_(std::move(tick)) {}

  absl::Status Spawn(Part part) ABSL_LOCKS_EXCLUDED(mutex_);
  void Body(Part part);
  Part Own();
  Part StandBy();
  Part Idle() ABSL_LOCKS_EXCLUDED(mutex_);
  void ReplaceStandby() ABSL_LOCKS_EXCLUDED(mutex_);
  // acquire: pairs with the store in Stop().
  bool stopping() const { return stopping_.load(std::memory_order_acquire); }

  Readable& readable_;
  const std::unique_ptr<Tick> tick_;
  ReadingRole role_;
  std::atomic<bool> stopping_{false};  // Set by Stop().

  transport::Mutex mutex_;
  transport::CondVar wanted_;  // Where idle threads sleep.
  bool standby_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;
  int alive_ ABSL_GUARDED_BY(mutex_) = 0;
  transport::CondVar ended_;  // A thread has ended.
  // Those that run, and those that have ended and are to be joined.
  std::list<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> over_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERVER_THREADS_H_
