// One of two processes is killed; the other one knows within milliseconds, and goes on.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locket/tests/rpc_testing.h"

extern char** environ;

namespace locket::tests {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// rpc_peer as a child, killed at the end if it still lives.
class Peer {
 public:
  Peer(const char* mode, const std::string& address) {
    int in[2];
    int out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string program = "tests/rpc_peer";
    std::string mode_text = mode;
    std::string address_text = address;
    char* arguments[] = {program.data(), mode_text.data(), address_text.data(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Peer() {
    Kill();
    Reap();
    close(to_);
    close(from_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Its next line of output.
  std::string ReadLine() {
    std::string line;
    char byte;
    while (read(from_, &byte, 1) == 1 && byte != '\n') line += byte;
    return line;
  }
  void Kill() {
    if (pid_ > 0) kill(pid_, SIGKILL);
  }
  void Reap() {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int to_ = -1;
  int from_ = -1;
};

std::unique_ptr<Echo::Stub> StubFor(const std::string& address) {
  return Echo::NewStub(CreateChannel(address, InsecureChannelCredentials()));
}

int OpenDescriptors() {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

TEST(RpcPeerDeathTest, ServerKilledInTheHandler) {
  const std::string address = UniqueAddress();
  Peer server("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stub = StubFor(address);
  steady_clock::time_point killed;
  std::thread killer([&] {
    EXPECT_EQ(server.ReadLine(), "blocked");
    killed = steady_clock::now();
    server.Kill();
  });
  const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
  const auto known = steady_clock::now();
  killer.join();
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(outcome.status.error_message(), "Socket closed");
  EXPECT_NE(outcome.debug.find(address), std::string::npos) << outcome.debug;
  const auto took = std::chrono::duration<double, std::milli>(known - killed).count();
  RecordProperty("milliseconds", std::to_string(took));
  printf("known after %.2f ms\n", took);
  EXPECT_LT(took, 2000);
}

TEST(RpcPeerDeathTest, ServerKilledBeforeTheCall) {
  const std::string address = UniqueAddress();
  const auto stub = StubFor(address);
  for (int round = 0; round < 5; ++round) {
    {
      Peer server("serve", address);
      ASSERT_EQ(server.ReadLine(), "ready");
      ASSERT_TRUE(CallEcho(*stub, "").status.ok());
      server.Kill();
    }
    const auto start = steady_clock::now();
    const Outcome outcome = CallEcho(*stub, "");
    EXPECT_LT(steady_clock::now() - start, milliseconds(2000));
    EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE)
        << outcome.status.error_message();
  }
  Peer server("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  // The death of the last one may be the first thing that this call sees.
  Outcome outcome = CallEcho(*stub, "next");
  if (!outcome.status.ok()) outcome = CallEcho(*stub, "next");
  EXPECT_EQ(outcome.response.payload(), "next") << outcome.debug;
}

TEST(RpcPeerDeathTest, ServerKilledWhileALargeRequestWaitsForRoom) {
  const std::string address = UniqueAddress();
  Peer server("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stub = StubFor(address);
  ASSERT_TRUE(CallEcho(*stub, "").status.ok());
  std::thread killer([&] { server.Kill(); });
  Outcome outcome;
  const std::string payload(4000000, 'x');
  const auto until = InTime();
  do {
    outcome = CallEcho(*stub, payload);
  } while (outcome.status.ok() && steady_clock::now() < until);
  EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE) << outcome.status.error_message();
  killer.join();
}

TEST(RpcPeerDeathTest, ManyCallersAllHearOfTheServersDeath) {
  const std::string address = UniqueAddress();
  Peer server("serve", address);
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto stub = StubFor(address);
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      const Outcome outcome = Call(*stub, MakeRequest(Request::BLOCK));
      EXPECT_EQ(outcome.status.error_code(), StatusCode::UNAVAILABLE);
    });
  }
  EXPECT_EQ(server.ReadLine(), "blocked");
  server.Kill();
  for (std::thread& caller : callers) caller.join();
}

TEST(RpcPeerDeathTest, ClientKilledInTheHandler) {
  EchoServer server;
  for (int round = 1; round <= 5; ++round) {
    Peer client("block", server.address());
    ASSERT_TRUE(server.service().blocked.WaitFor(round));
    const auto killed = steady_clock::now();
    client.Kill();
    EXPECT_TRUE(server.service().cancelled.WaitFor(round));
    const auto took =
        std::chrono::duration<double, std::milli>(steady_clock::now() - killed).count();
    printf("cancelled after %.2f ms\n", took);
    EXPECT_LT(took, 2000);
    EXPECT_TRUE(CallEcho(*server.NewStub(), "next").status.ok());
  }
}

TEST(RpcPeerDeathTest, DeadClientsLeaveNothingOpen) {
  EchoServer server;
  ASSERT_TRUE(CallEcho(*server.NewStub(), "").status.ok());
  int after_first = 0;
  for (int round = 1; round <= 10; ++round) {
    {
      Peer client("block", server.address());
      ASSERT_TRUE(server.service().blocked.WaitFor(round));
    }
    ASSERT_TRUE(server.service().cancelled.WaitFor(round));
    // The last handler of a dead connection frees it just after it has returned.
    const auto until = InTime();
    while (round > 1 && OpenDescriptors() > after_first && steady_clock::now() < until) {
      std::this_thread::yield();
    }
    if (round == 1) {
      ASSERT_TRUE(server.service().returned.WaitFor(2));
      after_first = OpenDescriptors();
    }
  }
  EXPECT_LE(OpenDescriptors(), after_first);
}

}  // namespace
}  // namespace locket::tests
