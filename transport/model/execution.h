// One execution: a few threads over a memory (memory.h), run on fibers, one step at a time.
//
// Any thread that is not asleep may be next, before each step: an access of a shared word, a fence,
// a call of the kernel. But not all orders need to be tried (Lipton's reduction):
//   - A load can be put off: whatever the others do meanwhile, the store that it returns stays
//     visible to it, and nobody notices a load. So a load is done right before its thread's next
//     step.
//   - A store can be done early: the others need not see it, and can still put their own stores in
//     front of it. So a store is done right after its thread's step before.
//   - A read-modify-write, a seq_cst access or fence and a call of the kernel can be neither.
// So a thread goes on without a break through loads, then one step that can be neither, then
// stores. Plain accesses and fences that are not seq_cst concern their own thread alone.
#ifndef LOCKET_TRANSPORT_MODEL_EXECUTION_H_
#define LOCKET_TRANSPORT_MODEL_EXECUTION_H_

#include <setjmp.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "locket/transport/model/fiber.h"
#include "locket/transport/model/memory.h"
#include "locket/transport/model/mutant.h"

namespace locket::transport::model {

// What the explorer decides.
class Decider {
 public:
  virtual size_t Choose(size_t count) = 0;
  // Whether an execution that has come to this state need not go on, as another one has been there.
  virtual bool Known(uint64_t state) = 0;

 protected:
  ~Decider() = default;
};

// An object of the kernel's, on which threads sleep.
class KernelObject {
 public:
  virtual uint64_t StateHash() const = 0;

 protected:
  ~KernelObject() = default;
};

class Execution final : private Host {
 public:
  enum class End { kFinished, kKnown, kFailed };

  explicit Execution(Decider& decider);
  ~Execution();

  // The one whose thread runs now: atomics have no argument to find it by.
  static Execution& Current() { return *current_; }

  // Runs one: `build` makes the shared objects and the threads.
  End Run(const std::function<void(Execution&)>& build, const Mutant& mutant, bool log);

  // Tries all orders.
  void DoNotReduce() { reduces_ = false; }

  // Why it failed, and the steps so far if it was to log.
  const std::string& failure() const { return failure_; }
  const std::vector<std::string>& log() const { return log_; }
  uint64_t steps() const { return steps_; }
  uint64_t sleeps() const { return sleeps_; }
  const std::vector<uint64_t>& outcome() const { return outcome_; }
  const Mutant& mutant() const { return mutant_; }

  // ---- For what builds it

  // An object that threads share; only such ones may hold atomics of the model.
  template <typename T, typename... Arguments>
  T& New(Arguments&&... arguments) {
    return *new (Allocate(sizeof(T), alignof(T))) T(std::forward<Arguments>(arguments)...);
  }
  // A ring's memory, zeroed, which appears twice in a row.
  uint8_t* NewRing(size_t size);
  void AddKernelObject(const KernelObject* object) { kernel_.push_back(object); }
  // Words without a name are private to one thread.
  void Name(const void* word, std::string name, Role role);
  void AddThread(std::string name, std::function<void()> body);
  // A sleeping thread may wake for no reason so often, all threads taken together.
  void AllowSpuriousWakes(int wakes) { spurious_wakes_ = wakes; }

  // ---- For its threads

  [[noreturn]] void Fail(const std::string& why) override;
  void Check(bool holds, const char* what) {
    if (!holds) Fail(what);
  }
  // A result of this execution; the explorer gathers them.
  void Outcome(size_t index, uint64_t value);

  uint64_t Load(const void* word, uint64_t initial, std::memory_order order);
  void Store(const void* word, uint64_t initial, uint64_t value, std::memory_order order);
  uint64_t FetchAdd(const void* word, uint64_t initial, uint64_t value, std::memory_order order);
  uint64_t Exchange(const void* word, uint64_t initial, uint64_t value, std::memory_order order);
  uint64_t CompareExchange(const void* word, uint64_t initial, uint64_t expected, uint64_t desired,
                           std::memory_order success, std::memory_order failure);
  void Fence(std::memory_order order);
  void SleeperFence();
  void WakerFence();
  // The ring's Commit() begins, or is over: mutants tell its stores from TryReserve()'s.
  void Committing(bool begins) { committing_[self_] = begins; }

  // Plain accesses of 8 bytes.
  uint64_t Read(const void* word);
  void Write(void* word, uint64_t value);

  // ---- For objects of the kernel's

  // Others may run. What follows, up to the next access, is one step, which can neither be put off
  // nor done early.
  void Step() { Step(Move::kNeither); }
  // Within a step: what a system call sees, after its full barrier.
  void KernelBarrier();
  uint64_t KernelLoad(const void* word);
  size_t Choose(size_t count) override;
  // Sleeps until Wake(); true, or false for no reason.
  bool Sleep(const void* on);
  // Wakes at most `count` of those who sleep on it.
  void Wake(const void* on, size_t count);
  // Sleeps on two.
  bool Sleep(const void* on, const void* or_on);

 private:
  enum class Move { kLater, kEarlier, kNeither };
  enum class State : uint8_t { kReady, kAsleep, kWokenForNothing, kDone };

  struct Thread {
    std::string name;
    std::function<void()> body;
    State state = State::kReady;
    bool only_put_off = false;  // Since it last let others run.
    std::array<const void*, 2> sleeps_on{};
  };

  struct Word {
    std::string name;
    Role role = Role::kOther;
  };

  static constexpr size_t kArena = size_t{1} << 13;
  static constexpr uint64_t kMaxSteps = 1000;

  void* Allocate(size_t size, size_t alignment);
  size_t LocationOf(const void* word, uint64_t initial);
  void Step(Move move);
  size_t SharedStep(const void* word, uint64_t initial, Move move);
  const Word* FindWord(size_t offset) const;
  bool Faulty() const;
  bool LeavesOut(uint64_t value, Role role) const;
  bool HoldsBack(const void* word, uint64_t value, Role role);
  void StoreHeldBack();
  std::memory_order Weakened(size_t location, std::memory_order order, bool store) const;
  void RunThread();
  void PickNext();
  [[noreturn]] void Leave(End end);
  uint64_t StateHash() const;
  template <typename... Parts>
  void Log(const Parts&... parts);

  static thread_local Execution* current_;

  Decider& decider_;
  bool reduces_ = true;
  Mutant mutant_;
  Memory memory_;
  jmp_buf outside_;
  std::array<std::unique_ptr<Fiber>, kMaxThreads> fibers_;

  // All that follows is of the present run.
  std::vector<Thread> threads_;
  size_t self_ = 0;  // Whose step it is.
  End end_ = End::kFinished;
  std::string failure_;
  bool logging_ = false;
  std::vector<std::string> log_;
  uint64_t picked_at_ = 0;  // The state in which a thread was last picked.
  uint64_t steps_ = 0;
  uint64_t sleeps_ = 0;
  int spurious_wakes_ = 0;
  std::vector<uint64_t> outcome_;
  std::vector<const KernelObject*> kernel_;
  // The relaxed stores that a mutant holds back, of each thread.
  std::array<std::vector<std::pair<const void*, uint64_t>>, kMaxThreads> held_back_;
  std::array<bool, kMaxThreads> committing_{};

  // Shared objects. Each word of 4 bytes may be a location.
  alignas(128) std::array<uint8_t, kArena> arena_{};
  size_t arena_used_ = 0;
  uint8_t* ring_begin_[4] = {};
  size_t ring_size_[4] = {};
  size_t rings_ = 0;
  std::array<uint8_t, kArena / 4> location_at_{};  // Location + 1.
  std::array<uint8_t, kArena / 4> word_at_{};      // Index in words_ + 1.
  std::vector<Word> words_;
  std::array<Role, kMaxLocations> role_{};
  std::array<uint8_t, kMaxLocations> owner_{};  // Of a private location: thread + 1.
  size_t locations_ = 0;
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_EXECUTION_H_
