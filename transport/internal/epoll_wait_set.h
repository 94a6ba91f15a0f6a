// The WaitSet over one epoll with an eventfd per connection.
//
// A connection in the set is either hot or parked. Hot ones are polled in turn, without a system
// call. Parked ones have announced that they sleep (shm_connection.h): their peer rings the
// eventfd, and epoll reports the edge. Nobody ever reads the eventfd: each write of it is an edge
// of its own.
//
// Only the thread in Wait() parks and unparks.
#ifndef LOCKET_TRANSPORT_INTERNAL_EPOLL_WAIT_SET_H_
#define LOCKET_TRANSPORT_INTERNAL_EPOLL_WAIT_SET_H_

#include <atomic>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "locket/transport/internal/shm_connection.h"
#include "locket/transport/internal/unique_fd.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::transport::internal {

class EpollWaitSet final : public WaitSet {
 public:
  EpollWaitSet(UniqueFd epoll, UniqueFd waker)
      : epoll_(std::move(epoll)), waker_(std::move(waker)) {}

  absl::Status Add(Connection* connection, void* tag) override;
  void Remove(Connection* connection) override;
  void* Wait(Deadline deadline) override;
  void Wake() override;
  bool parked() const override { return parked_.load(std::memory_order_seq_cst); }

 private:
  struct Entry {
    ShmConnection* connection;
    void* tag;
    bool hot = false;
  };

  Entry* NextReady();
  bool ParkAll();
  void Demote();
  void Poll(Deadline deadline);
  void PollIfDue();
  bool TakeWake();
  int64_t SpinNanos() const;

  const UniqueFd epoll_;
  const UniqueFd waker_;
  std::atomic<bool> woken_{false};
  std::atomic<bool> parked_{false};

  Mutex mutex_;
  std::unordered_map<Connection*, std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);

  // The waiting thread's own.
  std::vector<Entry*> hot_;
  size_t turn_ = 0;  // Whose turn it is in hot_.
  uint32_t waits_ = 0;
  int64_t polled_at_ = 0;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_EPOLL_WAIT_SET_H_
