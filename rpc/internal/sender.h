// Threads take turns at sending on one connection, and wait for room in its ring.
#ifndef LOCKET_RPC_INTERNAL_SENDER_H_
#define LOCKET_RPC_INTERNAL_SENDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "locket/rpc/internal/frame.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/mutex.h"

namespace locket::internal {

// What a sender is willing to do while the ring is full.
class RoomWaiter {
 public:
  // True once waiting has lost its point: the call was cancelled or has ended. May be called under
  // the send lock: takes no lock itself.
  virtual bool GaveUp() = 0;

  // Called without any lock before each wait. What it does must not block.
  virtual void BeforeWait() {}

  // A wait is cut into pieces of this length, with BeforeWait() before each.
  virtual int64_t slice_nanos() const { return INT64_MAX; }

 protected:
  ~RoomWaiter() = default;
};

enum class SendResult {
  kReady,  // WaitForRoom(): try again. Elsewhere: sent.
  kDeadline,
  kGaveUp,
  kClosed,  // The connection has ended.
};

// Owns the writing side of a connection.
//
// Thread safety: all of it. A thread sends within a Turn, which holds the send lock.
//
// Invariants:
// (1) The lock is never held while a thread waits for room.
// (2) At most one thread waits for room in the ring. Who finds it waiting queues behind it, also
//     with a record that would fit: or a large record would starve.
// (3) Owed frames go out before anything else does. So a CANCEL that is owed precedes the START by
//     which its id is used again.
class Sender {
 public:
  explicit Sender(transport::Connection& connection)
      : connection_(connection), max_record_(connection.max_record()) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  size_t max_record() const { return max_record_; }

  class ABSL_SCOPED_LOCKABLE Turn {
   public:
    explicit Turn(Sender& sender) ABSL_EXCLUSIVE_LOCK_FUNCTION(sender.mutex_) : sender_(sender) {
      sender.mutex_.Lock();
    }
    ~Turn() ABSL_UNLOCK_FUNCTION() { sender_.mutex_.Unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    // (The analysis does not know that sender_ is the constructor's argument.)

    // Room for a record of `size` bytes in the ring, or null: then WaitForRoom().
    uint8_t* Reserve(size_t size) ABSL_NO_THREAD_SAFETY_ANALYSIS { return sender_.Reserve(size); }
    void Commit(size_t size) { sender_.connection_.Commit(size); }

    // Lets others have the lock until there may be room for `size` bytes. kReady: Reserve() again,
    // after a look at whatever the lock guards.
    SendResult WaitForRoom(size_t size, transport::Deadline deadline,
                           RoomWaiter& waiter) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return sender_.WaitForRoom(size, deadline, waiter);
    }

   private:
    Sender& sender_;
  };

  // Sends a frame that is a header alone, now or, where the ring is full, before the next frame of
  // this connection. Never waits. The caller sees to it that such frames are bounded in number.
  void SendOrOwe(const FrameHeader& frame) ABSL_LOCKS_EXCLUDED(mutex_);

  // Sends what is owed, if there is room now.
  void FlushOwed() ABSL_LOCKS_EXCLUDED(mutex_);
  bool owes() const { return owes_.load(std::memory_order_relaxed); }

  // Makes every thread that waits for room look at RoomWaiter::GaveUp() again.
  void Interrupt() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  uint8_t* Reserve(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SendResult WaitForRoom(size_t size, transport::Deadline deadline, RoomWaiter& waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool SendOwed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  transport::Connection& connection_;
  const size_t max_record_;

  transport::Mutex mutex_;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;  // A thread waits for room in the ring.
  transport::CondVar queue_;                      // Where the others wait for that thread.
  std::vector<FrameHeader> owed_ ABSL_GUARDED_BY(mutex_);
  // Whether owed_ has any. Written under the lock; read without it only as a hint.
  std::atomic<bool> owes_{false};
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SENDER_H_
