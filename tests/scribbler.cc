// The hostile process of scribble_test:
//
//   scribbler connect TARGET    a client
//   scribbler listen TARGET     a server
//
// It is admitted as everybody else is, and then overwrites at full speed whatever it has mapped
// shared: the segment's control page and both rings, in one of the ways of Way, the next one for
// the next connection. In between it sends and receives by the book, so that its victim has
// something to look at and is woken. It goes on until it is killed.
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "locket/transport/endpoint.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/layout.h"
#include "locket/transport/mutex.h"

namespace {

using locket::transport::Connection;
using locket::transport::Deadline;
using locket::transport::Mutex;
using locket::transport::MutexLock;

// How long one connection is scribbled on, unless its victim drops it before.
constexpr auto kPerConnection = std::chrono::milliseconds(100);

enum Way : uint64_t {
  kNoise,    // Random bytes everywhere.
  kPayload,  // Random bytes between the lines' first words: no header is touched.
  kHeaders,  // Good commit words of any size at every line; now and then a bad one.
  kToggle,   // Commit words that come and go.
  kStates,   // Who sleeps, and what for.
  kHeads,    // Heads of whole lines.
  kReplay,   // What stood in the control page a moment ago.
  kWays,
};

class Random {
 public:
  uint64_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  uint64_t state_ = 0x9e3779b97f4a7c15 ^ static_cast<uint64_t>(getpid());
};

struct Map {
  volatile uint64_t* words;
  size_t count;
  bool control;  // The control page; else a ring, of both mappings one.
};

// Everything that this process has mapped shared and writable.
std::vector<Map> SharedMaps() {
  std::vector<Map> maps;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    unsigned long offset = 0;
    char rights[5] = "";
    if (sscanf(line.c_str(), "%lx-%lx %4s %lx", &begin, &end, rights, &offset) != 4) continue;
    if (strcmp(rights, "rw-s") != 0) continue;
    maps.push_back({reinterpret_cast<volatile uint64_t*>(begin), (end - begin) / 8, offset == 0});
  }
  return maps;
}

class Scribbler {
 public:
  // A burst of some microseconds.
  void Scribble(const std::vector<Map>& maps, Way way) {
    for (const Map& map : maps) {
      for (int i = 0; i < 512; ++i) {
        const uint64_t value = random_.Next();
        const size_t at = next_++ % map.count;
        const size_t line = at & ~size_t{7};
        switch (way) {
          case kNoise:
            map.words[at] = value;
            break;
          case kPayload:
            if (!map.control && at != line) map.words[at] = value;
            break;
          case kHeaders:
            if (!map.control) map.words[line] = CommitWord(value);
            break;
          case kToggle:
            if (!map.control) map.words[line] = value % 3 == 0 ? CommitWord(value & 0xff) : 0;
            break;
          case kStates:
            // The second half of each ring's control: states, and the wanted head.
            if (map.control) map.words[16 + 32 * (value & 1) + 16 + value / 2 % 16] = value >> 62;
            break;
          case kHeads:
            if (map.control) map.words[16 + 32 * (value & 1)] = (value >> 32 & 0xfff) * 64;
            break;
          case kReplay:
            if (!map.control) break;
            if (value % 64 == 0) Remember(map);
            if (!seen_.empty()) map.words[at % seen_.size()] = seen_[at % seen_.size()];
            break;
          case kWays:
            break;
        }
      }
    }
  }

 private:
  // A size and the committed bit; seldom anything else.
  static uint64_t CommitWord(uint64_t value) {
    if (value % 1024 == 0) return value;
    return uint64_t{1} << 31 | (value & (value >> 40 & 0x3ffff));
  }

  void Remember(const Map& map) {
    seen_.clear();
    for (size_t i = 0; i < std::min<size_t>(map.count, 96); ++i) {
      const uint64_t word = map.words[i];
      seen_.push_back(word);
    }
  }

  Random random_;
  size_t next_ = 0;
  std::vector<uint64_t> seen_;
};

// Whether this side's own rings and heads stay as they are.
bool LeavesUsInPeace(Way way) { return way == kPayload || way == kStates; }

// Whether the descriptor is a doorbell: an eventfd that was made full.
bool IsDoorbell(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string field; info >> field;) {
    uint64_t count = 0;
    if (field == "eventfd-count:" && info >> std::hex >> count) return count > ~uint64_t{0} / 2;
  }
  return false;
}

// Wakes whoever sleeps on a word of the control page, or at a doorbell.
class Waker {
 public:
  Waker() {
    for (int fd = 3; fd < 64; ++fd) {
      if (IsDoorbell(fd)) bells_.push_back(fd);
    }
  }

  void Wake(const std::vector<Map>& maps) {
    for (const Map& map : maps) {
      if (!map.control) continue;
      auto& header = *reinterpret_cast<locket::transport::internal::SegmentHeader*>(
          const_cast<uint64_t*>(map.words));
      for (auto& ring : header.rings) {
        syscall(SYS_futex, &ring.reader_state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        syscall(SYS_futex, &ring.writer_state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
      }
    }
    // Seldom: who rings again and again without a record is dropped for that alone.
    if (++wakes_ % 64 != 0) return;
    for (const int bell : bells_) locket::transport::internal::RingDoorbell(bell);
  }

 private:
  std::vector<int> bells_;
  int wakes_ = 0;
};

// A record out and a record in, by the book.
void Behave(Connection& connection) {
  if (uint8_t* const room = connection.TryReserve(40)) {
    memset(room, 0x5a, 40);
    connection.Commit(40);
  }
  locket::transport::Record record;
  if (connection.TryReceive(&record) == locket::transport::ReadResult::kRecord) {
    connection.Release();
  }
}

// Until the victim ends the connection, or the time is over.
void ScribbleOn(Connection& connection, Way way) {
  const std::vector<Map> maps = SharedMaps();
  Scribbler scribbler;
  Waker waker;
  const Deadline deadline = Deadline::After(kPerConnection);
  // Traffic first, so that there is something to spoil.
  for (int i = 0; i < 100; ++i) Behave(connection);
  while (!deadline.passed()) {
    scribbler.Scribble(maps, way);
    waker.Wake(maps);
    if (LeavesUsInPeace(way)) Behave(connection);
    if (connection.closed()) break;
  }
}

int Client(const std::string& target) {
  puts("ready");
  fflush(stdout);
  for (uint64_t way = 0;; ++way) {
    auto connection =
        locket::transport::Connect(target, {}, Deadline::After(std::chrono::seconds(10)));
    if (!connection.ok()) {
      fprintf(stderr, "scribbler: %s\n", connection.status().ToString().c_str());
      return 2;
    }
    ScribbleOn(**connection, static_cast<Way>(way % kWays));
  }
}

int Server(const std::string& target) {
  Mutex mutex;
  locket::transport::CondVar arrived;
  std::deque<std::unique_ptr<Connection>> clients;
  locket::transport::ListenOptions options;
  options.ring_size = 64 << 10;
  auto listener = locket::transport::Listener::Listen(target, options,
                                                      [&](std::unique_ptr<Connection> connection) {
                                                        MutexLock lock(mutex);
                                                        clients.push_back(std::move(connection));
                                                        arrived.NotifyAll();
                                                      });
  if (!listener.ok()) {
    fprintf(stderr, "scribbler: %s\n", listener.status().ToString().c_str());
    return 2;
  }
  puts("ready");
  fflush(stdout);
  for (uint64_t way = 0;; ++way) {
    std::unique_ptr<Connection> client;
    {
      MutexLock lock(mutex);
      while (clients.empty()) arrived.Wait(mutex);
      client = std::move(clients.front());
      clients.pop_front();
    }
    ScribbleOn(*client, static_cast<Way>(way % kWays));
  }
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "connect" && argc == 3) return Client(argv[2]);
  if (role == "listen" && argc == 3) return Server(argv[2]);
  return 1;
}
