// std::atomic as the model has it, and the policy that puts it in its place (internal/atomics.h).
#ifndef LOCKET_TRANSPORT_MODEL_ATOMICS_H_
#define LOCKET_TRANSPORT_MODEL_ATOMICS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "locket/transport/model/execution.h"

namespace locket::transport::model {

// A word of an execution: its address says which, its bytes hold the initial value alone.
template <typename T>
class Atomic {
 public:
  constexpr Atomic() = default;
  constexpr Atomic(T initial) : initial_(initial) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order) const {
    return static_cast<T>(Execution::Current().Load(this, initial_, order));
  }
  void store(T value, std::memory_order order) {
    Execution::Current().Store(this, initial_, value, order);
  }
  T fetch_add(T value, std::memory_order order) {
    return static_cast<T>(Execution::Current().FetchAdd(this, initial_, value, order));
  }
  T exchange(T value, std::memory_order order) {
    return static_cast<T>(Execution::Current().Exchange(this, initial_, value, order));
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
    const T found = static_cast<T>(
        Execution::Current().CompareExchange(this, initial_, expected, desired, success, failure));
    if (found == expected) return true;
    expected = found;
    return false;
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    return compare_exchange_strong(
        expected, desired, order,
        order == std::memory_order_acq_rel ? std::memory_order_acquire : order);
  }

 private:
  T initial_{};
};

template <size_t kLines>
struct ModelAtomics {
  template <typename T>
  using Atomic = model::Atomic<T>;

  static void SleeperFence() { Execution::Current().SleeperFence(); }
  static void WakerFence() { Execution::Current().WakerFence(); }

  static constexpr size_t kFreeLines = kLines;
  // As in format 1, less would be in a ring of a few lines: a part is two of them.
  static constexpr size_t kWakeParts = 2;
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_ATOMICS_H_
