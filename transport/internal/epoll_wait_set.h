// The WaitSet over one epoll with a doorbell (doorbell.h) per connection.
//
// A connection in the set is either hot or parked. Hot ones are polled in turn, without a system
// call. Parked ones have announced that they sleep (shm_connection.h): their peer rings their
// doorbell, and epoll reports the edge. The peer has that bell too, so nobody on this side reads
// or writes it; what this side itself wants looked at (a new connection, one that has ended) goes
// through a list and the set's own waker.
//
// Only the thread in Wait() parks and unparks.
#ifndef LOCKET_TRANSPORT_INTERNAL_EPOLL_WAIT_SET_H_
#define LOCKET_TRANSPORT_INTERNAL_EPOLL_WAIT_SET_H_

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "locket/transport/internal/shm_connection.h"
#include "locket/transport/internal/spin.h"
#include "locket/transport/internal/unique_fd.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::transport::internal {

class EpollWaitSet final : public WaitSet {
 public:
  EpollWaitSet(UniqueFd epoll, UniqueFd waker)
      : owner_(getpid()), epoll_(std::move(epoll)), waker_(std::move(waker)) {}

  absl::Status Add(Connection* connection, void* tag) override;
  void Remove(Connection* connection) override;
  void* Wait(Deadline deadline) override;
  void Wake() override;
  bool parked() const override { return parked_.load(std::memory_order_seq_cst); }

 private:
  struct Entry final : public EndListener {
    Entry(EpollWaitSet* set, ShmConnection* connection, void* tag)
        : set(set), connection(connection), tag(tag) {}
    void OnEnd() override { set->LookAt(this); }

    EpollWaitSet* const set;
    ShmConnection* const connection;
    void* const tag;
    // The waiting thread's own.
    bool hot = false;
    int rings_in_vain = 0;  // Since its last record.
  };

  // Any thread.
  void LookAt(Entry* entry);
  void WriteWaker();

  // The waiting thread.
  Entry* NextReady();
  bool ParkAll();
  bool Park(size_t place);
  void Demote();
  void MakeHot(Entry* entry);
  void Poll(Deadline deadline);
  void PollIfDue();
  bool TakeWake();
  const ShmConnection* Spinner() const;

  const pid_t owner_;
  const UniqueFd epoll_;
  const UniqueFd waker_;
  std::atomic<bool> woken_{false};
  std::atomic<bool> parked_{false};

  // Locks are taken in this order: this one, a connection's, that of the list.
  Mutex mutex_;
  std::unordered_map<Connection*, std::unique_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);

  Mutex list_mutex_;
  std::vector<Entry*> to_look_at_ ABSL_GUARDED_BY(list_mutex_);

  // The waiting thread's own.
  std::vector<Entry*> hot_;
  size_t turn_ = 0;  // Whose turn it is in hot_.
  SpinTuner tuner_;
  // How many more waits may find something at once before the clock is read, and how many were
  // allowed.
  uint32_t waits_left_ = 0;
  uint32_t waits_allowed_ = 1;
  int64_t polled_at_ = 0;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_EPOLL_WAIT_SET_H_
