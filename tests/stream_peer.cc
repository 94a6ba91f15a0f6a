// The other process of stream_process_test:
//
//   stream_peer WHAT ADDRESS [SIZE]
//
// connects, does what WHAT says and prints what it has seen, a line each.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "locket/tests/stream_data.h"
#include "locket/transport/listener_socket.h"
#include "locket/transport/stream_socket.h"

namespace {

using locket::tests::StreamData;
using locket::transport::Deadline;
using locket::transport::ListenerSocket;
using locket::transport::ShutdownHow;
using locket::transport::StreamSocket;

void Say(const std::string& line) {
  puts(line.c_str());
  fflush(stdout);
}

[[noreturn]] void Fail(const absl::Status& status) {
  Say(status.ToString());
  _exit(2);
}

void Check(const absl::Status& status) {
  if (!status.ok()) Fail(status);
}

// Sends back whatever comes, and ends when the peer does.
void Echo(StreamSocket& socket) {
  std::vector<char> bytes(10'000);
  for (;;) {
    const auto got = socket.Read(bytes.data(), bytes.size());
    Check(got.status());
    if (*got == 0) break;
    Check(socket.Write(bytes.data(), *got).status());
    Check(socket.Flush());
  }
  Check(socket.Shutdown(ShutdownHow::kWrite));
}

// Reads to the end, then says what it was, and then sends as much.
void ReadThenWrite(StreamSocket& socket) {
  StreamData incoming;
  std::vector<char> bytes(100'000);
  for (;;) {
    const auto got = socket.Read(bytes.data(), bytes.size());
    Check(got.status());
    if (*got == 0) break;
    incoming.Expect(bytes.data(), *got);
  }
  Say(incoming.Summary());
  StreamData outgoing;
  for (size_t left = incoming.size(); left > 0;) {
    const size_t size = std::min(left, bytes.size());
    outgoing.Fill(bytes.data(), size);
    Check(socket.Write(bytes.data(), size).status());
    left -= size;
  }
  Check(socket.Shutdown(ShutdownHow::kWrite));
}

// Two threads are in the midst of traffic when the third one calls exit().
[[noreturn]] void ExitInTraffic(std::unique_ptr<StreamSocket> owned, size_t size) {
  // Never destroyed: what is open at exit is open.
  StreamSocket& socket = *owned.release();
  static std::atomic<size_t> written{0};
  std::thread writing([&socket] {
    StreamData data;
    char bytes[100];
    for (;;) {
      data.Fill(bytes, sizeof(bytes));
      if (!socket.Write(bytes, sizeof(bytes)).ok() || !socket.Flush().ok()) _exit(3);
      written.fetch_add(sizeof(bytes));
    }
  });
  std::thread reading([&socket] {
    char byte;
    const auto got = socket.Read(&byte, 1);
    _exit(got.ok() ? 4 : 5);
  });
  writing.detach();
  reading.detach();
  while (written.load() < size) std::this_thread::yield();
  exit(0);
}

// Flushes some, writes more, and exits.
[[noreturn]] void ExitAfter(std::unique_ptr<StreamSocket> owned, bool at_once) {
  StreamSocket& socket = *owned.release();
  Check(socket.Write("flushed", 7).status());
  Check(socket.Flush());
  Check(socket.Write("not flushed", 11).status());
  if (at_once) _exit(0);
  exit(0);
}

// A child with copies of everything exits by the book, and this process goes on.
void Fork(StreamSocket& socket) {
  Check(socket.Write("before ", 7).status());
  Check(socket.Flush());
  const pid_t child = fork();
  if (child == 0) exit(0);
  waitpid(child, nullptr, 0);
  Check(socket.Write("after", 5).status());
  Check(socket.Flush());
}

[[noreturn]] void SleepUntilKilled() {
  Say("ready");
  for (;;) pause();
}

int Listen(const std::string& address) {
  auto listener = ListenerSocket::Listen(address);
  Check(listener.status());
  Say("ready");
  auto socket = (*listener)->Accept();
  Check(socket.status());
  Say("accepted");
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc < 3) return 1;
  const std::string what = argv[1];
  const size_t size = argc > 3 ? strtoul(argv[3], nullptr, 10) : 0;
  if (what == "listen") return Listen(argv[2]);
  auto connected = StreamSocket::Connect(argv[2], {}, Deadline::After(std::chrono::seconds(10)));
  Check(connected.status());
  StreamSocket& socket = **connected;
  if (what == "echo") {
    Echo(socket);
  } else if (what == "read_then_write") {
    ReadThenWrite(socket);
  } else if (what == "silent") {
    SleepUntilKilled();
  } else if (what == "half_closed") {
    Check(socket.Write("last words", 10).status());
    Check(socket.Shutdown(ShutdownHow::kWrite));
    SleepUntilKilled();
  } else if (what == "fork") {
    Fork(socket);
    SleepUntilKilled();
  } else if (what == "exit_in_traffic") {
    ExitInTraffic(*std::move(connected), size);
  } else if (what == "exit") {
    ExitAfter(*std::move(connected), false);
  } else if (what == "_exit") {
    ExitAfter(*std::move(connected), true);
  } else {
    return 1;
  }
  return 0;
}
