#include "locket/transport/model/memory.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

namespace locket::transport::model {
namespace {

// Between two stores that follow each other: room for eight times one in the middle.
constexpr Time kStep = 256;

enum EventKind : uint64_t { kLoad = 1, kStore, kChange, kFence, kPlainLoad, kPlainStore, kNote };

bool Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst || order == std::memory_order_consume;
}

bool Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool IsSequential(std::memory_order order) { return order == std::memory_order_seq_cst; }

template <typename Array>
void JoinArray(Array& into, const Array& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

}  // namespace

void Knowledge::Join(const Knowledge& other) {
  JoinArray(view, other.view);
  JoinArray(clock, other.clock);
}

void Knowledge::JoinView(const Knowledge& other) { JoinArray(view, other.view); }

void Memory::Reset() {
  location_count_ = 0;
  for (Thread& thread : threads_) thread = {};
  sequential_ = {};
  sequential_hash_ = 0;
  orders_hash_ = 0;
}

size_t Memory::AddLocation(uint64_t identity, std::string_view name, uint64_t initial) {
  if (location_count_ == kMaxLocations) host_.Fail("more than kMaxLocations locations");
  Location& added = locations_[location_count_];
  added.identity = Mix(0, identity);
  added.name = name;
  added.order.clear();
  added.order.push_back({0, false, initial, 0, {}});
  added.accesses = {};
  added.hash = 0;
  return location_count_++;
}

void Memory::StartThread(size_t thread) { threads_[thread].current = threads_[0].current; }

void Memory::BeginEvent(size_t thread, uint64_t kind, size_t location) {
  Thread& self = threads_[thread];
  ++self.events;
  self.current.clock[thread] = self.events;
  self.hash = Mix(self.hash, kind + (location < kMaxLocations ? locations_[location].identity : 0));
}

size_t Memory::FirstVisible(size_t thread, size_t location, std::memory_order order) const {
  Time least = threads_[thread].current.view[location];
  if (IsSequential(order)) least = std::max(least, sequential_.view[location]);
  const std::vector<Message>& messages = locations_[location].order;
  size_t first = messages.size() - 1;
  while (messages[first].time > least) --first;
  return first;
}

void Memory::Learn(size_t thread, size_t location, const Message& message,
                   std::memory_order order) {
  Thread& self = threads_[thread];
  self.hash = Mix(self.hash, message.id);
  self.current.view[location] = std::max(self.current.view[location], message.time);
  self.acquirable.Join(message.knowledge);
  if (Acquires(order)) self.current.Join(message.knowledge);
  if (IsSequential(order)) TellAllSequential(location, message.time);
}

void Memory::TellAllSequential(size_t location, Time time) {
  if (sequential_.view[location] >= time) return;
  sequential_.view[location] = time;
  sequential_hash_ = ViewHash(sequential_);
}

uint64_t Memory::Load(size_t thread, size_t location, std::memory_order order) {
  BeginEvent(thread, kLoad, location);
  CheckRaces(thread, location, /*writes=*/false, /*plain=*/false);
  const std::vector<Message>& messages = locations_[location].order;
  const size_t visible = messages.size() - FirstVisible(thread, location, order);
  // The newest first: so the first execution of all is the one that is sequentially consistent.
  const Message& message = messages[messages.size() - 1 - host_.Choose(visible)];
  Learn(thread, location, message, order);
  return message.value;
}

void Memory::Store(size_t thread, size_t location, uint64_t value, std::memory_order order) {
  BeginEvent(thread, kStore, location);
  CheckRaces(thread, location, /*writes=*/true, /*plain=*/false);
  const std::vector<Message>& messages = locations_[location].order;
  // Behind any message that it may still read, but for those that a read-modify-write follows.
  std::array<size_t, 64> places;
  size_t count = 0;
  for (size_t place = messages.size(); place-- > FirstVisible(thread, location, order);) {
    if (place + 1 < messages.size() && messages[place + 1].read_modify_write) continue;
    if (count == places.size()) host_.Fail("too many concurrent stores to one location");
    places[count++] = place;
  }
  Insert(thread, location, places[host_.Choose(count)], value, order, false);
}

void Memory::Insert(size_t thread, size_t location, size_t after, uint64_t value,
                    std::memory_order order, bool read_modify_write) {
  Thread& self = threads_[thread];
  Location& at = locations_[location];
  const Time before = at.order[after].time;
  const size_t place = after + 1;
  const Time time = place == at.order.size()
                        ? static_cast<Time>(before + kStep)
                        : static_cast<Time>(before + (at.order[place].time - before) / 2);
  if (time <= before) host_.Fail("too many stores to one location");
  self.current.view[location] = time;
  if (IsSequential(order)) TellAllSequential(location, time);

  Message message = {time, read_modify_write, value, Mix(thread + 1, self.events), self.released};
  if (Releases(order)) message.knowledge = self.current;
  // A release sequence: whoever reads this also learns what the one before it carried.
  if (read_modify_write) message.knowledge.Join(at.order[after].knowledge);
  message.knowledge.view[location] = std::max(message.knowledge.view[location], time);
  at.order.insert(at.order.begin() + static_cast<ptrdiff_t>(place), message);

  orders_hash_ -= at.hash;
  at.hash = at.identity;
  for (const Message& each : at.order) at.hash = Mix(at.hash, each.id);
  orders_hash_ += at.hash;
}

uint64_t Memory::ReadModifyWrite(size_t thread, size_t location, const Change& change,
                                 std::memory_order success, std::memory_order failure) {
  BeginEvent(thread, kChange, location);
  const std::vector<Message>& messages = locations_[location].order;
  std::array<size_t, 64> places;
  size_t count = 0;
  const size_t first = FirstVisible(thread, location, success);
  for (size_t place = messages.size(); place-- > first;) {
    // Two of them cannot read the same store and succeed.
    if (change.Applies(messages[place].value) && place + 1 < messages.size() &&
        messages[place + 1].read_modify_write) {
      continue;
    }
    if (count == places.size()) host_.Fail("too many concurrent stores to one location");
    places[count++] = place;
  }
  const size_t place = places[host_.Choose(count)];
  const uint64_t found = messages[place].value;
  if (!change.Applies(found)) {
    CheckRaces(thread, location, /*writes=*/false, /*plain=*/false);
    Learn(thread, location, messages[place], failure);
    return found;
  }
  CheckRaces(thread, location, /*writes=*/true, /*plain=*/false);
  Learn(thread, location, messages[place], success);
  Insert(thread, location, place, change.Apply(found), success, true);
  return found;
}

uint64_t Memory::FetchAdd(size_t thread, size_t location, uint64_t added, std::memory_order order) {
  return ReadModifyWrite(thread, location, {Change::kAdd, added, 0}, order, order);
}

uint64_t Memory::Exchange(size_t thread, size_t location, uint64_t value, std::memory_order order) {
  return ReadModifyWrite(thread, location, {Change::kSet, value, 0}, order, order);
}

uint64_t Memory::CompareExchange(size_t thread, size_t location, uint64_t expected,
                                 uint64_t desired, std::memory_order success,
                                 std::memory_order failure) {
  return ReadModifyWrite(thread, location, {Change::kSetIfExpected, desired, expected}, success,
                         failure);
}

void Memory::Fence(size_t thread, std::memory_order order) {
  BeginEvent(thread, kFence, kMaxLocations);
  Thread& self = threads_[thread];
  if (Acquires(order)) self.current.Join(self.acquirable);
  if (IsSequential(order)) {
    // Views only: the order of fences alone makes nothing happen before anything.
    self.current.JoinView(sequential_);
    sequential_.JoinView(self.current);
    sequential_hash_ = ViewHash(sequential_);
    self.hash = Mix(self.hash, ViewHash(self.current));
  }
  if (Releases(order)) self.released = self.current;
}

uint64_t Memory::PlainLoad(size_t thread, size_t location) {
  BeginEvent(thread, kPlainLoad, location);
  CheckRaces(thread, location, /*writes=*/false, /*plain=*/true);
  // Without a race every store of the location happened before: the last one is read.
  return locations_[location].order.back().value;
}

void Memory::PlainStore(size_t thread, size_t location, uint64_t value) {
  BeginEvent(thread, kPlainStore, location);
  CheckRaces(thread, location, /*writes=*/true, /*plain=*/true);
  Insert(thread, location, locations_[location].order.size() - 1, value, std::memory_order_relaxed,
         false);
}

void Memory::CheckRaces(size_t thread, size_t location, bool writes, bool plain) {
  Thread& self = threads_[thread];
  Location& at = locations_[location];
  for (size_t other = 0; other < kMaxThreads; ++other) {
    if (other == thread) continue;
    const Accesses& theirs = at.accesses[other];
    uint16_t conflicting = theirs.plain_store;
    if (plain) conflicting = std::max(conflicting, theirs.store);
    if (writes) conflicting = std::max(conflicting, theirs.plain_load);
    if (writes && plain) conflicting = std::max(conflicting, theirs.load);
    if (conflicting > self.current.clock[other]) {
      host_.Fail(absl::StrCat("data race at ", at.name, " with thread ", other));
    }
  }
  Accesses& own = at.accesses[thread];
  (plain ? (writes ? own.plain_store : own.plain_load) : (writes ? own.store : own.load)) =
      self.events;
}

void Memory::Note(size_t thread, uint64_t what) {
  BeginEvent(thread, kNote, kMaxLocations);
  threads_[thread].hash = Mix(threads_[thread].hash, what);
}

uint64_t Memory::ViewHash(const Knowledge& knowledge) const {
  uint64_t hash = 0;
  for (size_t i = 0; i < location_count_; ++i) {
    if (knowledge.view[i] == 0) continue;
    const Location& at = locations_[i];
    const auto message = std::find_if(at.order.begin(), at.order.end(), [&](const Message& each) {
      return each.time == knowledge.view[i];
    });
    hash += Mix(at.identity, message->id);
  }
  return hash;
}

uint64_t Memory::StateHash() const {
  uint64_t hash = Mix(orders_hash_, sequential_hash_);
  for (const Thread& thread : threads_) hash = Mix(hash, thread.hash);
  return hash;
}

}  // namespace locket::transport::model
