// The other process of transport_death_test:
//
//   transport_peer connect TARGET silent|flood|pump|request|hello|fork|try
//   transport_peer listen TARGET serve|fork|stall
//   transport_peer as UID GID ...        the same, as another user (root alone can) whose groups
//   are
//                                        GID and GID + 1
//   transport_peer stopped ...           the same, once it gets SIGCONT
//   transport_peer open-for TARGET ...   opens a listening socket, starts the same with its
//                                        descriptor for DESCRIPTOR, and ends
//
// It says "ready" once it has done what its name says, and then does nothing until it is killed;
// "pump" sends records for ever, "try" says what became of its connection, and ends.
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "locket/transport/endpoint.h"
#include "locket/transport/internal/address.h"

namespace {

using locket::transport::Connection;
using locket::transport::Deadline;

void SayReady() {
  puts("ready");
  fflush(stdout);
}

[[noreturn]] void SleepUntilKilled() {
  for (;;) pause();
}

// A child that has every descriptor of this process, and lives until the test has closed the pipe
// to it.
void ForkChild() {
  if (fork() != 0) return;
  struct pollfd output = {STDOUT_FILENO, 0, 0};
  while (poll(&output, 1, -1) != 1) {
  }
  _exit(0);
}

int Fail(const absl::Status& status) {
  fprintf(stderr, "%s\n", status.ToString().c_str());
  return 2;
}

int Connect(const std::string& target, const std::string& what) {
  if (what == "hello") {
    // Stops within the handshake: connects, and says nothing.
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const auto where = locket::transport::internal::ToSocketAddress(
        *locket::transport::internal::ParseTarget(target));
    if (connect(fd, where.get(), where.size) != 0) return 2;
    SayReady();
    SleepUntilKilled();
  }
  auto connection =
      locket::transport::Connect(target, {}, Deadline::After(std::chrono::seconds(10)));
  if (what == "try") {
    puts(connection.status().ToString().c_str());
    fflush(stdout);
    return 0;
  }
  if (!connection.ok()) return Fail(connection.status());
  if (what == "fork") ForkChild();
  if (what == "pump") {
    SayReady();
    for (uint32_t interrupts = (*connection)->interrupts(); !(*connection)->closed();) {
      if (uint8_t* room = (*connection)->TryReserve(8)) {
        memset(room, 0, 8);
        (*connection)->Commit(8);
      } else {
        (*connection)->WaitWritable(8, Deadline::After(std::chrono::seconds(10)), interrupts);
      }
    }
    return 0;
  }
  uint32_t sent = 0;
  if (what == "flood") {
    while (uint8_t* room = (*connection)->TryReserve(100)) {
      memset(room, 0, 100);
      memcpy(room, &sent, sizeof(sent));
      (*connection)->Commit(100);
      ++sent;
    }
  } else if (what == "request") {
    memcpy((*connection)->TryReserve(7), "request", 7);
    (*connection)->Commit(7);
  }
  SayReady();
  SleepUntilKilled();
}

// Accepts a client, reads its Hello, and says nothing.
int Stall(const std::string& target) {
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto where = locket::transport::internal::ToSocketAddress(
      *locket::transport::internal::ParseTarget(target));
  if (bind(listening, where.get(), where.size) != 0 || listen(listening, 1) != 0) return 2;
  SayReady();
  const int client = accept(listening, nullptr, nullptr);
  char hello[64];
  if (recv(client, hello, sizeof(hello), 0) <= 0) return 2;
  puts("stalled");
  fflush(stdout);
  SleepUntilKilled();
}

int Listen(const std::string& target, const std::string& what) {
  if (what == "stall") return Stall(target);
  std::vector<std::unique_ptr<Connection>> accepted;
  auto listener =
      locket::transport::Listener::Listen(target, {}, [&](std::unique_ptr<Connection> connection) {
        accepted.push_back(std::move(connection));
        if (what == "fork") ForkChild();
        puts("accepted");
        fflush(stdout);
      });
  if (!listener.ok()) return Fail(listener.status());
  SayReady();
  SleepUntilKilled();
}

// Listens on `target` as somebody who will not accept.
int Open(const std::string& target) {
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const auto where = locket::transport::internal::ToSocketAddress(
      *locket::transport::internal::ParseTarget(target));
  if (bind(listening, where.get(), where.size) != 0 || listen(listening, 1) != 0) return -1;
  return listening;
}

int StartFor(const std::string& target, char** argv) {
  std::string descriptor = "fd:" + std::to_string(Open(target));
  for (char** each = argv; *each != nullptr; ++each) {
    if (strcmp(*each, "DESCRIPTOR") == 0) *each = descriptor.data();
  }
  pid_t pid;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv - 1, environ) != 0) return 2;
  return 0;
}

// The parent's death means nothing to a process whose test outlives its parent: the pipe to the
// test does.
void EndWithTheTest() {
  std::thread([] {
    struct pollfd output = {STDOUT_FILENO, 0, 0};
    while (poll(&output, 1, -1) != 1) {
    }
    _exit(0);
  }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 3 && strcmp(argv[1], "open-for") == 0) return StartFor(argv[2], argv + 3);
  EndWithTheTest();
  if (argc > 4 && strcmp(argv[1], "as") == 0) {
    const gid_t gid = static_cast<gid_t>(atoi(argv[3]));
    const gid_t groups[] = {gid, gid + 1};
    if (setgroups(2, groups) != 0 || setgid(gid) != 0 ||
        setuid(static_cast<uid_t>(atoi(argv[2]))) != 0) {
      puts("refused");
      return 3;
    }
    argc -= 3;
    argv += 3;
  }
  if (argc > 2 && strcmp(argv[1], "stopped") == 0) {
    raise(SIGSTOP);
    --argc;
    ++argv;
  }
  if (argc == 4 && strcmp(argv[1], "connect") == 0) return Connect(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "listen") == 0) return Listen(argv[2], argv[3]);
  return 1;
}
