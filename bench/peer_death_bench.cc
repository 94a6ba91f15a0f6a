// How soon a peer's death is known, in each state that the survivor can be in:
//
//   bazel run --config=opt //bench:peer_death_bench -- --json /tmp/peer_death.json
//   tools/bench_check --issue=3 /tmp/peer_death.json
//
// A server is killed by SIGKILL, and its client says when it knew. --resident_mb makes the server
// larger: the kernel gives back a process's memory before it closes its descriptors.
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "locket/bench/child.h"
#include "locket/bench/pair.h"
#include "locket/bench/results.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/wait_set.h"

ABSL_FLAG(std::string, filter, "", "Only benchmarks whose name contains this.");
ABSL_FLAG(int, rounds, 9, "Rounds; a round's figure is the median of its deaths.");
ABSL_FLAG(int, deaths, 11, "Deaths in a round.");
ABSL_FLAG(int, resident_mb, 0, "Memory that each server touches before it dies.");
ABSL_FLAG(std::string, json, "", "Write the results to this file.");
ABSL_FLAG(std::string, child, "", "For its own use: the role of a process it starts.");

namespace locket::bench {
namespace {

using transport::Connection;
using transport::MonotonicNanos;
using TransportDeadline = transport::Deadline;

constexpr std::chrono::seconds kSoon{10};

// ---- The server: answers each record with one of its size.

int Serve(const ChildRole& role) {
  ParentLink parent(role);
  int64_t megabytes = 0;
  if (absl::SimpleAtoi(role.setup().variant(), &megabytes) && megabytes > 0) {
    const size_t bytes = static_cast<size_t>(megabytes) << 20;
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
  }
  auto set = transport::WaitSet::Create();
  if (!set.ok()) return 1;
  std::unique_ptr<Connection> accepted;
  auto listener =
      transport::Listener::Listen(absl::StrCat("unix:", role.setup().socket_path()), {},
                                  [&](std::unique_ptr<Connection> connection) {
                                    accepted = std::move(connection);
                                    if (!(*set)->Add(accepted.get(), accepted.get()).ok()) _exit(1);
                                  });
  if (!listener.ok()) {
    parent.SendError(listener.status());
    return 1;
  }
  parent.Ready();
  for (;;) {
    auto* const connection = static_cast<Connection*>((*set)->Wait(TransportDeadline::Infinite()));
    transport::Record record;
    switch (connection->TryReceive(&record)) {
      case transport::ReadResult::kEmpty:
        break;
      case transport::ReadResult::kEnd:
        return 0;
      case transport::ReadResult::kRecord:
        // Records of one byte are not answered.
        if (record.size > 1) {
          if (uint8_t* room = connection->TryReserve(record.size)) {
            memcpy(room, record.data, record.size);
            connection->Commit(record.size);
          }
        }
        connection->Release();
    }
  }
}

// ---- The client, in each state. Each returns when it knows of the death.

struct State {
  const char* name;
  bool spins;
  // True once the end is known; `about_to_wait` is called just before the state is reached.
  bool (*wait)(Connection& connection, const std::function<void()>& about_to_wait);
};

bool Send(Connection& connection, size_t size) {
  uint8_t* const room = connection.TryReserve(size);
  if (room == nullptr) return false;
  memset(room, 0, size);
  connection.Commit(size);
  return true;
}

// Nobody waits: somebody who looks now and then.
bool Idle(Connection& connection, const std::function<void()>& about_to_wait) {
  about_to_wait();
  const TransportDeadline deadline = TransportDeadline::After(kSoon);
  while (!connection.closed() && !deadline.passed()) {
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
  return connection.closed();
}

bool Parked(Connection& connection, const std::function<void()>& about_to_wait) {
  const uint32_t interrupts = connection.interrupts();
  about_to_wait();
  return connection.WaitReadable(TransportDeadline::After(kSoon), interrupts) ==
         transport::WaitResult::kClosed;
}

// Round trips as fast as they go.
bool Hot(Connection& connection, const std::function<void()>& about_to_wait) {
  const TransportDeadline deadline = TransportDeadline::After(kSoon);
  about_to_wait();
  while (!deadline.passed()) {
    if (!Send(connection, 4)) return connection.closed();
    for (;;) {
      const uint32_t interrupts = connection.interrupts();
      transport::Record record;
      const transport::ReadResult received = connection.TryReceive(&record);
      if (received == transport::ReadResult::kEnd) return true;
      if (received == transport::ReadResult::kRecord) break;
      connection.WaitReadable(deadline, interrupts);
    }
    connection.Release();
  }
  return false;
}

// The server is stopped first, or it would make room.
bool FullRing(Connection& connection, const std::function<void()>& about_to_wait) {
  const uint32_t interrupts = connection.interrupts();
  while (Send(connection, 1)) {
  }
  about_to_wait();
  return connection.WaitWritable(1, TransportDeadline::After(kSoon), interrupts) ==
         transport::WaitResult::kClosed;
}

constexpr State kStates[] = {
    {"idle", false, Idle},
    {"hot", true, Hot},
    {"parked", false, Parked},
    {"full_ring", false, FullRing},
};

// Microseconds from the kill to its being known.
absl::StatusOr<double> MeasureDeath(const State& state, SocketFolder& sockets,
                                    std::chrono::microseconds life) {
  ChildRole role;
  role.set_role(ChildRole::SERVER);
  role.set_system("locket");
  role.mutable_setup()->set_socket_path(sockets.NextPath());
  role.mutable_setup()->set_variant(absl::StrCat(absl::GetFlag(FLAGS_resident_mb)));
  absl::StatusOr<std::unique_ptr<ChildProcess>> server = ChildProcess::Start(role);
  if (!server.ok()) return server.status();
  if (absl::StatusOr<std::string> ready = (*server)->ReadLine(In(kSoon)); !ready.ok()) {
    return ready.status();
  }
  transport::ConnectOptions options;
  if (!state.spins) options.spin.limit = std::chrono::nanoseconds(0);
  auto connection = transport::Connect(absl::StrCat("unix:", role.setup().socket_path()), options,
                                       TransportDeadline::After(kSoon));
  if (!connection.ok()) return connection.status();
  const pid_t pid = (*server)->pid();
  if (state.wait == FullRing) kill(pid, SIGSTOP);

  std::atomic<int64_t> killed_at{0};
  std::thread killer;
  const bool known = state.wait(**connection, [&] {
    killer = std::thread([&killed_at, pid, life] {
      std::this_thread::sleep_for(life);
      killed_at.store(MonotonicNanos());
      kill(pid, SIGKILL);
    });
  });
  const int64_t known_at = MonotonicNanos();
  if (killer.joinable()) killer.join();
  if (!known) return absl::DeadlineExceededError(absl::StrCat(state.name, ": not known in 10 s"));
  return static_cast<double>(known_at - killed_at.load()) / 1000;
}

absl::StatusOr<Measurement> MeasureRound(const State& state, SocketFolder& sockets,
                                         std::mt19937& random) {
  std::vector<double> times;
  for (int i = 0; i < absl::GetFlag(FLAGS_deaths); ++i) {
    // Long enough that the client sleeps, or is hot.
    const std::chrono::microseconds life(std::uniform_int_distribution<int>(3'000, 5'000)(random));
    absl::StatusOr<double> time = MeasureDeath(state, sockets, life);
    if (!time.ok()) return time.status();
    times.push_back(*time);
  }
  Measurement measurement;
  measurement.set_p50_us(Median(times));
  measurement.set_p99_us(*std::max_element(times.begin(), times.end()));
  measurement.set_calls(static_cast<int64_t>(times.size()));
  return measurement;
}

absl::Status Run(Report& report) {
  absl::StatusOr<SocketFolder> sockets = SocketFolder::Create();
  if (!sockets.ok()) return sockets.status();
  std::mt19937 random(1);
  for (const State& state : kStates) {
    const std::string name = absl::StrCat("peer_death/", state.name);
    if (name.find(absl::GetFlag(FLAGS_filter)) == std::string::npos) continue;
    std::vector<Measurement> rounds;
    for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
      absl::StatusOr<Measurement> measured = MeasureRound(state, *sockets, random);
      if (!measured.ok()) return measured.status();
      rounds.push_back(*measured);
    }
    *report.add_results() = Summarize("locket", name, rounds);
  }
  return absl::OkStatus();
}

int Main(absl::Span<char* const> arguments) {
  if (const std::string text = absl::GetFlag(FLAGS_child); !text.empty()) {
    ChildRole role;
    return google::protobuf::TextFormat::ParseFromString(text, &role) ? Serve(role) : 2;
  }
  if (absl::GetFlag(FLAGS_rounds) < 1 || absl::GetFlag(FLAGS_deaths) < 1) {
    fprintf(stderr, "peer_death_bench: --rounds and --deaths begin at 1\n");
    return 2;
  }
  CatchInterrupts();
  Report report;
  *report.mutable_machine() = DescribeMachine(arguments);
  report.mutable_machine()->set_pinning("not pinned");
  absl::Status status = Run(report);
  if (status.ok()) {
    fputs(Table(report).c_str(), stdout);
    const std::string path = absl::GetFlag(FLAGS_json);
    if (!path.empty()) status = WriteJson(report, path);
  }
  if (status.ok()) return 0;
  fprintf(stderr, "peer_death_bench: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace locket::bench

int main(int argc, char** argv) {
  const std::vector<char*> arguments(argv, argv + argc);
  absl::SetProgramUsageMessage("How soon a peer's death is known.");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) {
    fprintf(stderr, "peer_death_bench: what is \"%s\"?\n", rest[1]);
    return 2;
  }
  return locket::bench::Main(arguments);
}
