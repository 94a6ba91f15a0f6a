#include "locket/transport/model/execution.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace locket::transport::model {
namespace {

const char* OrderName(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

}  // namespace

thread_local Execution* Execution::current_ = nullptr;

Execution::Execution(Decider& decider) : decider_(decider), memory_(*this) {
  for (size_t i = 1; i < kMaxThreads; ++i) {
    fibers_[i] = std::make_unique<Fiber>([this] { RunThread(); });
  }
}

Execution::~Execution() = default;

Execution::End Execution::Run(const std::function<void(Execution&)>& build, const Mutant& mutant,
                              bool log) {
  current_ = this;
  mutant_ = mutant;
  memory_.Reset();
  for (size_t i = 1; i < kMaxThreads; ++i) fibers_[i]->Restart();
  threads_.clear();
  threads_.push_back({.name = "set-up", .body = nullptr});
  self_ = 0;
  end_ = End::kFinished;
  failure_.clear();
  logging_ = log;
  log_.clear();
  steps_ = sleeps_ = picked_at_ = 0;
  spurious_wakes_ = 0;
  outcome_.clear();
  kernel_.clear();
  for (auto& stores : held_back_) stores.clear();
  committing_ = {};
  arena_used_ = rings_ = locations_ = 0;
  location_at_ = {};
  word_at_ = {};
  words_.clear();
  owner_ = {};

  if (_setjmp(outside_) == 0) {
    build(*this);
    for (size_t i = 1; i < threads_.size(); ++i) memory_.StartThread(i);
    PickNext();
  }
  return end_;
}

void Execution::Leave(End end) {
  end_ = end;
  _longjmp(outside_, 1);
}

void Execution::Fail(const std::string& why) {
  failure_ = why;
  Leave(End::kFailed);
}

// ---- Threads

void Execution::AddThread(std::string name, std::function<void()> body) {
  if (threads_.size() == kMaxThreads) Fail("more than kMaxThreads threads");
  threads_.push_back({.name = std::move(name), .body = std::move(body)});
}

void Execution::RunThread() {
  Thread& self = threads_[self_];
  self.body();
  self.state = State::kDone;
  Log("done");
  PickNext();
}

void Execution::Step(Move move) {
  if (self_ == 0) return;  // The set-up is over before anybody runs.
  if (++steps_ > kMaxSteps) Fail("it does not end");
  Thread& self = threads_[self_];
  if (!reduces_ || (move != Move::kEarlier && !self.only_put_off)) PickNext();
  self.only_put_off = move == Move::kLater;
}

void Execution::PickNext() {
  const uint64_t state = StateHash();
  // Nothing has happened since this thread was picked: it had not come to its first step yet.
  if (self_ != 0 && threads_[self_].state == State::kReady && state == picked_at_) return;
  picked_at_ = state;
  if (decider_.Known(state)) Leave(End::kKnown);
  std::array<size_t, 2 * kMaxThreads> next;
  size_t count = 0;
  // This one first: so the first execution has the fewest switches.
  if (self_ != 0 && threads_[self_].state == State::kReady) next[count++] = self_;
  for (size_t i = 1; i < threads_.size(); ++i) {
    if (i != self_ && threads_[i].state == State::kReady) next[count++] = i;
  }
  if (count == 0) {
    std::string asleep;
    for (const Thread& thread : threads_) {
      if (thread.state == State::kAsleep) absl::StrAppend(&asleep, " ", thread.name);
    }
    if (asleep.empty()) Leave(End::kFinished);
    Fail(absl::StrCat("lost wake-up: asleep for good:", asleep));
  }
  for (size_t i = 1; spurious_wakes_ > 0 && i < threads_.size(); ++i) {
    if (threads_[i].state == State::kAsleep) next[count++] = i;
  }
  const size_t from = self_;
  self_ = next[Choose(count)];
  if (threads_[self_].state == State::kAsleep) {
    threads_[self_].state = State::kWokenForNothing;
    --spurious_wakes_;
  }
  if (self_ != from) fibers_[self_]->SwitchTo(from == 0 ? outside_ : fibers_[from]->place());
}

size_t Execution::Choose(size_t count) { return count == 1 ? 0 : decider_.Choose(count); }

uint64_t Execution::StateHash() const {
  uint64_t hash = Mix(memory_.StateHash(), static_cast<uint64_t>(spurious_wakes_));
  for (const Thread& thread : threads_) hash = Mix(hash, static_cast<uint64_t>(thread.state));
  for (const KernelObject* object : kernel_) hash = Mix(hash, object->StateHash());
  return hash;
}

void Execution::Outcome(size_t index, uint64_t value) {
  outcome_.resize(std::max(outcome_.size(), index + 1));
  outcome_[index] = value;
}

template <typename... Parts>
void Execution::Log(const Parts&... parts) {
  if (logging_) log_.push_back(absl::StrCat(threads_[self_].name, ": ", parts...));
}

// ---- Shared objects

void* Execution::Allocate(size_t size, size_t alignment) {
  const size_t at = (arena_used_ + alignment - 1) & ~(alignment - 1);
  if (at + size > kArena) Fail("the arena is too small");
  arena_used_ = at + size;
  return arena_.data() + at;
}

uint8_t* Execution::NewRing(size_t size) {
  auto* const ring = static_cast<uint8_t*>(Allocate(2 * size, 64));
  memset(ring, 0, 2 * size);
  ring_begin_[rings_] = ring;
  ring_size_[rings_++] = size;
  return ring;
}

void Execution::Name(const void* word, std::string name, Role role) {
  words_.push_back({std::move(name), role});
  word_at_[static_cast<size_t>(static_cast<const uint8_t*>(word) - arena_.data()) / 4] =
      static_cast<uint8_t>(words_.size());
}

size_t Execution::LocationOf(const void* word, uint64_t initial) {
  const auto* at = static_cast<const uint8_t*>(word);
  if (at < arena_.data() || at >= arena_.data() + arena_used_) Fail("a word outside the arena");
  size_t in_ring = 0;
  size_t ring = rings_;
  for (size_t i = 0; i < rings_; ++i) {
    if (at < ring_begin_[i] || at >= ring_begin_[i] + 2 * ring_size_[i]) continue;
    ring = i;
    in_ring = static_cast<size_t>(at - ring_begin_[i]) % ring_size_[i];
    at = ring_begin_[i] + in_ring;  // The second mapping is the first.
  }
  const auto offset = static_cast<size_t>(at - arena_.data()) / 4;
  if (location_at_[offset] != 0) return location_at_[offset] - size_t{1};

  std::string name;
  Role role = Role::kOther;
  bool shared = true;
  if (ring != rings_) {
    if (logging_) name = absl::StrCat("ring ", ring, " at ", in_ring);
    role = Role::kRingBytes;
  } else if (word_at_[offset] != 0) {
    name = words_[word_at_[offset] - 1].name;
    role = words_[word_at_[offset] - 1].role;
  } else {
    if (logging_) name = absl::StrCat("private word at ", offset * 4);
    shared = false;
  }
  const size_t location = memory_.AddLocation(offset + 1, name, initial);
  role_[location] = role;
  owner_[location] = shared ? 0 : static_cast<uint8_t>(self_ + 1);
  location_at_[offset] = static_cast<uint8_t>(location + 1);
  return location;
}

// The location; if it is shared, others may run first.
size_t Execution::SharedStep(const void* word, uint64_t initial, Move move) {
  const size_t location = LocationOf(word, initial);
  if (owner_[location] == 0) {
    Step(move);
  } else if (owner_[location] != self_ + 1) {
    if (owner_[location] != 1) Fail("a word without a name is used by two threads");
    owner_[location] = static_cast<uint8_t>(self_ + 1);  // From the set-up to its thread.
  }
  return location;
}

// ---- Steps

// Whether the thread whose step it is has the mutant's fault.
bool Execution::Faulty() const { return mutant_.only_thread == 0 || mutant_.only_thread == self_; }

std::memory_order Execution::Weakened(size_t location, std::memory_order order, bool store) const {
  const Role weak = store ? mutant_.relaxed_stores : mutant_.relaxed_loads;
  return Faulty() && weak != Role::kOther && role_[location] == weak ? std::memory_order_relaxed
                                                                     : order;
}

uint64_t Execution::Load(const void* word, uint64_t initial, std::memory_order order) {
  const size_t location =
      SharedStep(word, initial, order == std::memory_order_seq_cst ? Move::kNeither : Move::kLater);
  order = Weakened(location, order, /*store=*/false);
  const uint64_t value = memory_.Load(self_, location, order);
  Log("load ", memory_.name(location), ", ", OrderName(order), ": ", value);
  return value;
}

void Execution::Store(const void* word, uint64_t initial, uint64_t value, std::memory_order order) {
  const size_t location = SharedStep(
      word, initial, order == std::memory_order_seq_cst ? Move::kNeither : Move::kEarlier);
  const Role role = role_[location];
  if (LeavesOut(value, role) || HoldsBack(word, value, role)) return;
  order = Weakened(location, order, /*store=*/true);
  Log("store ", memory_.name(location), ", ", OrderName(order), ": ", value);
  memory_.Store(self_, location, value, order);
  if (role == Role::kRingBytes) StoreHeldBack();
}

// The mutants that do without a store.
bool Execution::LeavesOut(uint64_t value, Role role) const {
  if (!Faulty()) return false;
  if (role == Role::kRingBytes && value == 0) {
    return committing_[self_] ? !mutant_.zeroes_behind_shortened : !mutant_.zeroes_at_reservation;
  }
  return role == Role::kHead && value / 64 % 2 == 1 && !mutant_.publishes_each_head;
}

// The mutants that do two stores in the wrong order.
bool Execution::HoldsBack(const void* word, uint64_t value, Role role) {
  if (!Faulty()) return false;
  const bool held = (role == Role::kWantedHead && !mutant_.wants_before_parking) ||
                    (role == Role::kRingBytes && value == 0 && !mutant_.zeroes_before_publishing);
  if (held) held_back_[self_].emplace_back(word, value);
  return held;
}

void Execution::StoreHeldBack() {
  for (const auto& [word, value] : held_back_[self_]) {
    const size_t location = SharedStep(word, 0, Move::kEarlier);
    memory_.Store(self_, location, value, std::memory_order_relaxed);
    Log("store ", memory_.name(location), ", too late: ", value);
  }
  held_back_[self_].clear();
}

uint64_t Execution::FetchAdd(const void* word, uint64_t initial, uint64_t value,
                             std::memory_order order) {
  const size_t location = SharedStep(word, initial, Move::kNeither);
  if (Faulty() && role_[location] == Role::kInterrupts && !mutant_.counts_interrupts) return 0;
  order = Weakened(location, order, /*store=*/true);
  const uint64_t found = memory_.FetchAdd(self_, location, value, order);
  Log("fetch_add ", memory_.name(location), ", ", OrderName(order), ": ", found, " + ", value);
  return found;
}

uint64_t Execution::Exchange(const void* word, uint64_t initial, uint64_t value,
                             std::memory_order order) {
  const size_t location = SharedStep(word, initial, Move::kNeither);
  const uint64_t found = memory_.Exchange(self_, location, value, order);
  Log("exchange ", memory_.name(location), ", ", OrderName(order), ": ", found, " -> ", value);
  return found;
}

uint64_t Execution::CompareExchange(const void* word, uint64_t initial, uint64_t expected,
                                    uint64_t desired, std::memory_order success,
                                    std::memory_order failure) {
  const size_t location = SharedStep(word, initial, Move::kNeither);
  if (Faulty() && role_[location] == Role::kState && !mutant_.changes_state_to_wake) {
    return memory_.Load(self_, location, failure);
  }
  if (Faulty() && role_[location] == Role::kState && !mutant_.changes_only_what_it_saw) {
    Log("exchange ", memory_.name(location), ", whatever it is -> ", desired);
    memory_.Exchange(self_, location, desired, success);
    return expected;
  }
  const uint64_t found =
      memory_.CompareExchange(self_, location, expected, desired, success, failure);
  Log("compare_exchange ", memory_.name(location), ", ", OrderName(success), ": ", found, ", ",
      expected, " -> ", desired);
  return found;
}

void Execution::Fence(std::memory_order order) {
  if (order == std::memory_order_seq_cst) Step();
  memory_.Fence(self_, order);
  Log("fence, ", OrderName(order));
}

void Execution::SleeperFence() {
  if (!Faulty() || mutant_.sleeper_fence) Fence(std::memory_order_seq_cst);
  StoreHeldBack();
}

void Execution::WakerFence() {
  if (!Faulty() || mutant_.waker_fence) Fence(std::memory_order_seq_cst);
}

uint64_t Execution::Read(const void* word) {
  const size_t location = LocationOf(word, 0);
  const uint64_t value = memory_.PlainLoad(self_, location);
  Log("read ", memory_.name(location), ": ", value);
  return value;
}

void Execution::Write(void* word, uint64_t value) {
  const size_t location = LocationOf(word, 0);
  Log("write ", memory_.name(location), ": ", value);
  memory_.PlainStore(self_, location, value);
}

// ---- The kernel

void Execution::KernelBarrier() { memory_.Fence(self_, std::memory_order_seq_cst); }

uint64_t Execution::KernelLoad(const void* word) {
  // A word on which somebody sleeps was touched before; its initial value is known by then.
  const size_t location = LocationOf(word, 0);
  const uint64_t value = memory_.Load(self_, location, std::memory_order_relaxed);
  Log("the kernel loads ", memory_.name(location), ": ", value);
  return value;
}

bool Execution::Sleep(const void* on) { return Sleep(on, nullptr); }

bool Execution::Sleep(const void* on, const void* or_on) {
  Log("sleeps");
  ++sleeps_;
  threads_[self_].sleeps_on = {on, or_on};
  threads_[self_].state = State::kAsleep;
  threads_[self_].only_put_off = false;
  PickNext();
  const bool woken = threads_[self_].state != State::kWokenForNothing;
  threads_[self_].state = State::kReady;
  memory_.Note(self_, woken ? 1 : 2);
  Log(woken ? "was woken" : "wakes for no reason");
  return woken;
}

void Execution::Wake(const void* on, size_t count) {
  Log("wakes");
  for (; count > 0; --count) {
    std::array<size_t, kMaxThreads> sleepers;
    size_t found = 0;
    for (size_t i = 1; i < threads_.size(); ++i) {
      const auto& sleeps_on = threads_[i].sleeps_on;
      if (threads_[i].state == State::kAsleep && (sleeps_on[0] == on || sleeps_on[1] == on)) {
        sleepers[found++] = i;
      }
    }
    if (found == 0) return;
    threads_[sleepers[Choose(found)]].state = State::kReady;
  }
}

}  // namespace locket::transport::model
