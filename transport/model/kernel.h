// What the kernel does for a connection: futexes, a doorbell in an epoll, news of a process's end.
//
// A system call is one step with a full barrier at its start; being woken orders nothing (the real
// ones order more).
#ifndef LOCKET_TRANSPORT_MODEL_KERNEL_H_
#define LOCKET_TRANSPORT_MODEL_KERNEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "locket/transport/model/atomics.h"
#include "locket/transport/model/execution.h"

namespace locket::transport::model {

// Sleeps while the words have these values: compared and asleep in one step. True if
// it was woken, or if one of them had changed.
inline bool FutexWaitTwo(const Atomic<uint32_t>& word, uint32_t expected,
                         const Atomic<uint32_t>& other, uint32_t other_expected) {
  Execution& run = Execution::Current();
  run.Step();
  run.KernelBarrier();
  if (run.KernelLoad(&word) != expected || run.KernelLoad(&other) != other_expected) return true;
  return run.Sleep(&word, &other);
}

inline void FutexWake(const Atomic<uint32_t>& word, size_t count) {
  Execution& run = Execution::Current();
  run.Step();
  run.KernelBarrier();
  run.Wake(&word, count);
}

// An edge-triggered epoll with one descriptor in it, an eventfd.
class Doorbell final : public KernelObject {
 public:
  explicit Doorbell(Execution& run) : run_(run) { run.AddKernelObject(this); }

  void Ring() {
    run_.Step();
    run_.KernelBarrier();
    rung_ = true;
    run_.Wake(this, 1);
  }

  // Until it rings, or for no reason.
  void Wait() {
    run_.Step();
    run_.KernelBarrier();
    if (!rung_) run_.Sleep(this);
    rung_ = false;
  }

  uint64_t StateHash() const override { return rung_ ? 1 : 0; }

 private:
  Execution& run_;
  bool rung_ = false;
};

// How a process's end reaches the one who watches: what it did before happened before.
class ProcessEnd {
 public:
  explicit ProcessEnd(Execution& run) : news_(run) {
    run.Name(&ended_, "process end", Role::kOther);
  }

  void Happen() {
    ended_.fetch_add(1, std::memory_order_release);
    news_.Ring();
  }
  void Wait() {
    news_.Wait();
    ended_.fetch_add(1, std::memory_order_acquire);
  }

 private:
  Doorbell news_;
  Atomic<uint32_t> ended_{0};
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_KERNEL_H_
