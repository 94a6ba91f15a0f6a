// The memory of an execution that is explored: what each load may return, by the rules of C++.
//
// The model is the operational one of views, without promises ("RC11"; Kang et al., "A promising
// semantics for relaxed-memory concurrency", less its promises):
//   - Each location has its stores in modification order. A store goes anywhere behind the last one
//     that its thread knows of (not between a read-modify-write and the store that it read).
//   - A thread knows, for each location, the latest store that it has seen: its view. A load
//     returns any store that is not older. So it may be stale, as long as nothing told the thread.
//   - A release store carries its thread's view, an acquire load takes it over; relaxed ones do so
//     together with fences; read-modify-writes carry on what they read (release sequences).
//   - seq_cst fences and operations are totally ordered, in the order of the execution: a fence
//     takes over and adds to the view that all of them share.
//   - Happens-before is kept beside the views, in vector clocks. Two accesses of one location, one
//     of them a plain one, one of them a write, that it does not order are a data race: a failure.
//
// What it leaves out: a load never returns a store that is executed later ("load buffering": C++
// allows r1 = x; y = 1 beside r2 = y; x = 1 to end with both 1; x86 and, where the store depends on
// the load, ARM do not). Locations are whole words: accesses of other sizes do not overlap.
//
// Who picks: wherever a rule allows more than one answer the host is asked, and the explorer sees
// to it that each answer is tried.
#ifndef LOCKET_TRANSPORT_MODEL_MEMORY_H_
#define LOCKET_TRANSPORT_MODEL_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace locket::transport::model {

inline constexpr size_t kMaxThreads = 6;  // The set-up is thread 0.
inline constexpr size_t kMaxLocations = 64;

// Where an execution's choices come from, and its failures go.
class Host {
 public:
  // One of 0 to count - 1; count is at least 1.
  virtual size_t Choose(size_t count) = 0;
  // Ends the execution.
  [[noreturn]] virtual void Fail(const std::string& why) = 0;

 protected:
  ~Host() = default;
};

// A place in a location's modification order. Not dense, so that a store can go in between.
using Time = uint16_t;

// What a thread, or whoever reads a message, knows.
struct Knowledge {
  std::array<Time, kMaxLocations> view{};     // For each location, the latest store known.
  std::array<uint16_t, kMaxThreads> clock{};  // For each thread, the latest event that precedes.

  void Join(const Knowledge& other);
  void JoinView(const Knowledge& other);
};

class Memory {
 public:
  explicit Memory(Host& host) : host_(host) {}

  // Back to the state in which no location was touched.
  void Reset();

  // A location; `identity` is the same in each execution. Threads know its initial value.
  size_t AddLocation(uint64_t identity, std::string_view name, uint64_t initial);
  const std::string& name(size_t location) const { return locations_[location].name; }

  // A thread starts after all that thread 0 has done.
  void StartThread(size_t thread);

  uint64_t Load(size_t thread, size_t location, std::memory_order order);
  void Store(size_t thread, size_t location, uint64_t value, std::memory_order order);
  uint64_t FetchAdd(size_t thread, size_t location, uint64_t added, std::memory_order order);
  uint64_t Exchange(size_t thread, size_t location, uint64_t value, std::memory_order order);
  // Returns the value found, and has stored `desired` if that is `expected`.
  uint64_t CompareExchange(size_t thread, size_t location, uint64_t expected, uint64_t desired,
                           std::memory_order success, std::memory_order failure);
  void Fence(size_t thread, std::memory_order order);

  uint64_t PlainLoad(size_t thread, size_t location);
  void PlainStore(size_t thread, size_t location, uint64_t value);

  // Something outside the memory has happened to the thread, which it can tell: `what`.
  void Note(size_t thread, uint64_t what);

  // Equal for equal states: two executions that come to equal states go on equally.
  uint64_t StateHash() const;

 private:
  struct Message {
    Time time;
    bool read_modify_write;  // Nothing comes between it and the message before it.
    uint64_t value;
    uint64_t id;          // Of the event that stored it; 0 for the initial value.
    Knowledge knowledge;  // What an acquire load learns.
  };

  // The last events of a thread at a location.
  struct Accesses {
    uint16_t plain_load = 0, plain_store = 0, load = 0, store = 0;
  };

  struct Location {
    uint64_t identity = 0;
    std::string name;
    std::vector<Message> order;
    std::array<Accesses, kMaxThreads> accesses;
    uint64_t hash = 0;  // Of the order of its stores.
  };

  struct Thread {
    uint16_t events = 0;
    uint64_t hash = 0;  // Of all it has done and seen.
    Knowledge current;
    Knowledge acquirable;  // What an acquire fence would add.
    Knowledge released;    // What a release fence gave to later relaxed stores.
  };

  // What a read-modify-write does with a value it finds.
  struct Change {
    enum { kAdd, kSet, kSetIfExpected } what;
    uint64_t operand;
    uint64_t expected;
    bool Applies(uint64_t found) const { return what != kSetIfExpected || found == expected; }
    uint64_t Apply(uint64_t found) const { return what == kAdd ? found + operand : operand; }
  };

  uint64_t ReadModifyWrite(size_t thread, size_t location, const Change& change,
                           std::memory_order success, std::memory_order failure);
  void BeginEvent(size_t thread, uint64_t kind, size_t location);
  // The first message of the location that the thread may still read.
  size_t FirstVisible(size_t thread, size_t location, std::memory_order order) const;
  void Learn(size_t thread, size_t location, const Message& message, std::memory_order order);
  // Puts a message behind order[after].
  void Insert(size_t thread, size_t location, size_t after, uint64_t value, std::memory_order order,
              bool read_modify_write);
  void CheckRaces(size_t thread, size_t location, bool writes, bool plain);
  void TellAllSequential(size_t location, Time time);
  uint64_t ViewHash(const Knowledge& knowledge) const;

  Host& host_;
  size_t location_count_ = 0;
  std::array<Location, kMaxLocations> locations_;
  std::array<Thread, kMaxThreads> threads_;
  Knowledge sequential_;  // What all seq_cst fences and operations so far have in common.
  uint64_t sequential_hash_ = 0;
  uint64_t orders_hash_ = 0;  // The sum over all locations.
};

// Mixes `value` into `hash`.
inline uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = hash * 0x9e3779b97f4a7c15 + value + 0xd1b54a32d192ed03;
  hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93;
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9;
  return hash ^ (hash >> 32);
}

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_MEMORY_H_
