// The other process of transport_death_test:
//
//   transport_peer connect TARGET silent|flood|request|hello
//   transport_peer listen TARGET
//
// It says "ready" once it has done what its name says, and then does nothing until it is killed.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

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
  if (!connection.ok()) {
    fprintf(stderr, "%s\n", connection.status().ToString().c_str());
    return 2;
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

int Listen(const std::string& target) {
  std::unique_ptr<Connection> accepted;
  auto listener = locket::transport::Listener::Listen(
      target, {},
      [&](std::unique_ptr<Connection> connection) { accepted = std::move(connection); });
  if (!listener.ok()) {
    fprintf(stderr, "%s\n", listener.status().ToString().c_str());
    return 2;
  }
  SayReady();
  SleepUntilKilled();
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc == 4 && strcmp(argv[1], "connect") == 0) return Connect(argv[2], argv[3]);
  if (argc == 3 && strcmp(argv[1], "listen") == 0) return Listen(argv[2]);
  return 1;
}
