// The other process of crash_test, restart_test and transport_limits_test:
//
//   crash_peer connect TARGET LEDGER POINT     a client
//   crash_peer listen TARGET LEDGER POINT      a server
//   crash_peer cycle TARGET TIMES              a client that connects and closes, again and again
//   crash_peer later TARGET                    a client that connects when it gets SIGUSR1
//   crash_peer serve TARGET                    a server, until it is killed
//
// At its point it kills itself (SIGKILL); at the point "none" it goes on until somebody kills it.
// The points are those of a Moment, and
//
//   begin      before it connects, or when it has just begun to listen
//   connected  it has its connection, and has done nothing with it
//   blocked    asleep, for room in a full ring
//   parked     asleep, for a record
//   socket, hello, welcome, mapped, sealed    the last step that a client takes of the handshake
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "locket/tests/crash_traffic.h"
#include "locket/tests/process_resources.h"
#include "locket/transport/internal/address.h"
#include "locket/transport/internal/handshake_messages.h"
#include "locket/transport/internal/socket.h"

namespace {

using namespace locket::tests;
using locket::transport::Connection;
using locket::transport::ConnectOptions;
using locket::transport::Deadline;

constexpr auto kSoon = std::chrono::seconds(10);

[[noreturn]] void Die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

[[noreturn]] void Fail(const std::string& why) {
  fprintf(stderr, "crash_peer: %s\n", why.c_str());
  _exit(2);
}

// Kills the process at the 20th time of the moment that the point names: in the middle of traffic.
Hook HookOf(const std::string& point) {
  static const std::map<std::string, Moment> kMoments = {{"negotiating", Moment::kNegotiating},
                                                         {"accepted", Moment::kAccepted},
                                                         {"reserved", Moment::kReserved},
                                                         {"committed", Moment::kCommitted},
                                                         {"holding", Moment::kHolding}};
  const auto found = kMoments.find(point);
  if (found == kMoments.end()) return nullptr;
  const Moment fatal = found->second;
  const bool once = fatal == Moment::kNegotiating || fatal == Moment::kAccepted;
  return [fatal, left = std::make_shared<std::atomic<int>>(once ? 1 : 20)](Moment moment) {
    if (moment == fatal && left->fetch_sub(1) == 1) Die();
  };
}

// Kills the process once the calling thread sleeps. Call it just before what sleeps.
void DieAsleep() {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  std::thread([thread] {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    for (;;) {
      std::ifstream file(path);
      std::string stat;
      std::getline(file, stat);
      const size_t name_end = stat.rfind(") ");
      if (name_end != std::string::npos && stat[name_end + 2] == 'S') Die();
      sched_yield();
    }
  }).detach();
}

void FillRing(Connection& connection, Ledger* ledger) {
  for (uint32_t sequence = 0;; ++sequence) {
    const size_t size = CrashRecordSize(0, sequence);
    const uint32_t interrupts = connection.interrupts();
    uint8_t* const room = connection.TryReserve(size);
    if (room == nullptr) {
      DieAsleep();
      connection.WaitWritable(size, Deadline::Infinite(), interrupts);
      Fail("the ring did not stay full");
    }
    FillCrashRecord(room, 0, sequence);
    connection.Commit(size);
    ledger->committed[0].store(sequence + 1);
  }
}

void ShakeHandsUpTo(const std::string& point, const std::string& target) {
  namespace internal = locket::transport::internal;
  const internal::UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto where = internal::ToSocketAddress(*internal::ParseTarget(target));
  if (connect(socket.get(), where.get(), where.size) != 0) Fail("connect()");
  if (point == "socket") Die();
  if (!internal::SendMessage(socket.get(), internal::Encode(internal::Hello())).ok()) {
    Fail("no Hello");
  }
  if (point == "hello") Die();
  auto welcome =
      internal::ReceiveMessage(socket.get(), internal::kMaxMessageSize, Deadline::After(kSoon));
  if (!welcome.ok()) Fail(welcome.status().ToString());
  if (point == "welcome") Die();
  if (!internal::SendMessage(socket.get(), internal::Encode(internal::Mapped())).ok()) {
    Fail("no Mapped");
  }
  if (point == "mapped") Die();
  auto sealed =
      internal::ReceiveMessage(socket.get(), internal::kMaxMessageSize, Deadline::After(kSoon));
  if (!sealed.ok()) Fail(sealed.status().ToString());
  Die();
}

std::unique_ptr<Connection> ConnectTo(const std::string& target, const ConnectOptions& options) {
  auto connection = locket::transport::Connect(target, options, Deadline::After(kSoon));
  if (!connection.ok()) Fail(connection.status().ToString());
  return *std::move(connection);
}

int Client(const std::string& target, Ledger* ledger, const std::string& point) {
  if (point == "begin") Die();
  if (point == "socket" || point == "hello" || point == "welcome" || point == "mapped" ||
      point == "sealed") {
    ShakeHandsUpTo(point, target);
  }
  ConnectOptions options;
  if (point == "parked") options.spin.limit = std::chrono::nanoseconds(0);
  const std::unique_ptr<Connection> connection = ConnectTo(target, options);
  if (point == "connected") Die();
  if (point == "blocked") FillRing(*connection, ledger);
  if (point == "parked") {
    const uint32_t interrupts = connection->interrupts();
    DieAsleep();
    connection->WaitReadable(Deadline::Infinite(), interrupts);
    Fail("a record out of nothing");
  }
  RecordChecker checker;
  const Hook hook = HookOf(point);
  const SendingThreads threads(*connection, ledger, hook);
  Fail("the server ended it: " + ReceiveToTheEnd(*connection, &checker, hook));
}

// Fills the ring of its first client, who does not read.
[[noreturn]] void FillFirstClient(const std::string& target, Ledger* ledger) {
  locket::transport::ListenOptions options;
  options.ring_size = kCrashRingSize;
  locket::transport::Mutex mutex;
  locket::transport::CondVar arrived;
  std::unique_ptr<Connection> client;
  auto listener = locket::transport::Listener::Listen(target, options,
                                                      [&](std::unique_ptr<Connection> connection) {
                                                        locket::transport::MutexLock lock(mutex);
                                                        client = std::move(connection);
                                                        arrived.NotifyAll();
                                                      });
  if (!listener.ok()) Fail(listener.status().ToString());
  puts("ready");
  fflush(stdout);
  {
    locket::transport::MutexLock lock(mutex);
    while (client == nullptr) arrived.Wait(mutex);
  }
  FillRing(*client, ledger);
  Fail("the ring is endless");
}

int Server(const std::string& target, Ledger* ledger, const std::string& point) {
  if (point == "blocked") FillFirstClient(target, ledger);
  auto server = CrashServer::Start({target, ledger, HookOf(point)});
  if (!server.ok()) Fail(server.status().ToString());
  puts("ready");
  fflush(stdout);
  if (point == "begin") Die();
  if (point == "parked") {
    // Its first client is silent, so what the server has is a place in the epoll.
    while ((*server)->clients() == 0 || !(*server)->parked()) sched_yield();
    Die();
  }
  for (;;) pause();
}

int Serve(const std::string& target) {
  auto server = CrashServer::Start({target, nullptr, nullptr});
  if (!server.ok()) Fail(server.status().ToString());
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

int ConnectLater(const std::string& target) {
  sigset_t go;
  sigemptyset(&go);
  sigaddset(&go, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &go, nullptr);
  puts("ready");
  fflush(stdout);
  int signal = 0;
  sigwait(&go, &signal);
  auto connection =
      locket::transport::Connect(target, {}, Deadline::After(std::chrono::minutes(1)));
  puts(connection.ok() ? "connected" : connection.status().ToString().c_str());
  fflush(stdout);
  for (;;) pause();
}

int Cycle(const std::string& target, int times) {
  ProcessResources before;
  for (int i = 0; i < times; ++i) {
    // A tenth to begin with, for what is made once.
    if (i == times / 10) before = ProcessResources::Now();
    const std::unique_ptr<Connection> connection = ConnectTo(target, {});
    SharedSender sender(*connection, nullptr, nullptr);
    if (!sender.Send(0, 0)) Fail("the server is gone");
    // Every second one waits for the answer, the others close in the middle of it.
    if (i % 2 == 0) continue;
    const uint32_t interrupts = connection->interrupts();
    connection->WaitReadable(Deadline::After(kSoon), interrupts);
  }
  const ProcessResources after = ProcessResources::Now();
  puts(after.GrowthSince(before).empty() ? "flat" : after.GrowthSince(before).c_str());
  puts(after.ToString().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "connect" && argc == 5) return Client(argv[2], Ledger::Map(argv[3]), argv[4]);
  if (role == "listen" && argc == 5) return Server(argv[2], Ledger::Map(argv[3]), argv[4]);
  if (role == "cycle" && argc == 4) return Cycle(argv[2], std::stoi(argv[3]));
  if (role == "later" && argc == 3) return ConnectLater(argv[2]);
  if (role == "serve" && argc == 3) return Serve(argv[2]);
  return 1;
}
