// The one mutex of Locket: std::mutex with the annotations of clang's thread-safety analysis.
//
// Not absl::Mutex: Debian's is built without TSan, which then reports false races in whatever it
// guards. For the floors of Locket, not for users (the build's visibility says so).
#ifndef LOCKET_TRANSPORT_MUTEX_H_
#define LOCKET_TRANSPORT_MUTEX_H_

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "locket/transport/deadline.h"

namespace locket::transport {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_.Lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Wakes spuriously, as std::condition_variable: wait in a loop over the condition.
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // False once the deadline has passed.
  bool WaitUntil(Mutex& mutex, Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (deadline.infinite()) {
      Wait(mutex);
      return true;
    }
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool in_time =
        condition_.wait_until(lock, deadline.steady_time()) == std::cv_status::no_timeout;
    lock.release();
    return in_time;
  }

  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_MUTEX_H_
