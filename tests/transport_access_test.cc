// Who may connect to whom, how many, and sockets that another process has opened.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "locket/tests/test_process.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/address.h"
#include "locket/transport/internal/unique_fd.h"
#include "locket/transport/mutex.h"

namespace locket::transport {
namespace {

using tests::TestProcess;

constexpr auto kSoon = std::chrono::seconds(10);
constexpr uid_t kUid = 12345;
constexpr gid_t kGid = 23456;

std::string Peer() { return getenv("PEER"); }

class TransportAccessTest : public testing::Test {
 protected:
  TransportAccessTest() {
    char name[] = "/tmp/locket-XXXXXX";
    directory_ = mkdtemp(name);
    chmod(directory_.c_str(), 0777);
    target_ = "unix:" + directory_ + "/s";
  }
  ~TransportAccessTest() override { std::filesystem::remove_all(directory_); }

  void Listen(ListenOptions options) {
    const mode_t before = umask(077);
    auto listener = Listener::Listen(target_, options, [this](std::unique_ptr<Connection> each) {
      MutexLock lock(mutex_);
      accepted_.push_back(std::move(each));
      arrived_.NotifyAll();
    });
    umask(before);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }

  // Waits until the listener has handed over so many, and destroys one of them.
  void DropOneOf(size_t count) {
    const Deadline deadline = Deadline::After(kSoon);
    MutexLock lock(mutex_);
    while (accepted_.size() < count && arrived_.WaitUntil(mutex_, deadline)) {
    }
    ASSERT_EQ(accepted_.size(), count);
    accepted_.pop_back();
  }

  // What becomes of a client that is another user; "refused" where this process cannot be one.
  std::string ConnectAsAnother() {
    TestProcess client(
        Peer(), {"as", std::to_string(kUid), std::to_string(kGid), "connect", target_, "try"});
    return client.ReadLine();
  }

  absl::StatusOr<std::unique_ptr<Connection>> ConnectTo(const std::string& target,
                                                        const ConnectOptions& options = {}) {
    return Connect(target, options, Deadline::After(kSoon));
  }

  std::string directory_;
  std::string target_;
  Mutex mutex_;
  CondVar arrived_;
  std::vector<std::unique_ptr<Connection>> accepted_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Listener> listener_;  // Last: it ends before what its callback uses.
};

// ---- Users

#define SKIP_UNLESS_IT_CAN_BE_ANOTHER_USER(line) \
  if (line == "refused") GTEST_SKIP() << "this process cannot become another user"

TEST_F(TransportAccessTest, AnotherUserMayNotConnectToASocketOfTheDefaultMode) {
  Listen({});
  const std::string line = ConnectAsAnother();
  SKIP_UNLESS_IT_CAN_BE_ANOTHER_USER(line);
  EXPECT_EQ(line, "PERMISSION_DENIED: " + target_ + ": Permission denied");
}

TEST_F(TransportAccessTest, AnotherUserWhoMayConnectIsRefusedAndTold) {
  ListenOptions options;
  options.socket_mode = 0666;
  options.allowed_clients = {{kUid + 1}, {kGid + 2}};
  Listen(options);
  const std::string line = ConnectAsAnother();
  SKIP_UNLESS_IT_CAN_BE_ANOTHER_USER(line);
  EXPECT_EQ(line,
            "PERMISSION_DENIED: the server refused the connection: the client runs as uid 12345 "
            "and gid 23456, which this process of uid 0 does not admit");
}

TEST_F(TransportAccessTest, AnotherUserIsAdmittedByUidGidOrFurtherGroup) {
  for (const AllowedPeers& allowed :
       std::initializer_list<AllowedPeers>{{{kUid}, {}}, {{}, {kGid}}, {{}, {kGid + 1}}}) {
    ListenOptions options;
    options.socket_mode = 0666;
    options.allowed_clients = allowed;
    Listen(options);
    const std::string line = ConnectAsAnother();
    SKIP_UNLESS_IT_CAN_BE_ANOTHER_USER(line);
    EXPECT_EQ(line, "OK");
    listener_.reset();
  }
}

TEST_F(TransportAccessTest, AServerThatIsAnotherUserIsRefusedUnlessItIsAllowed) {
  TestProcess server(
      Peer(), {"as", std::to_string(kUid), std::to_string(kGid), "listen", target_, "serve"});
  const std::string line = server.ReadLine();
  SKIP_UNLESS_IT_CAN_BE_ANOTHER_USER(line);
  ASSERT_EQ(line, "ready");
  EXPECT_EQ(ConnectTo(target_).status(),
            absl::PermissionDeniedError("the server runs as uid 12345 and gid 23456, which this "
                                        "process of uid 0 does not admit"));
  for (const AllowedPeers& allowed :
       std::initializer_list<AllowedPeers>{{{kUid}, {}}, {{}, {kGid}}}) {
    ConnectOptions options;
    options.allowed_servers = allowed;
    const auto connection = ConnectTo(target_, options);
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_EQ((*connection)->peer().uid, kUid);
  }
}

// ---- Limits

TEST_F(TransportAccessTest, MoreConnectionsThanAllowedAreRefusedUntilOneEnds) {
  ListenOptions options;
  options.max_connections = 2;
  Listen(options);
  const auto first = ConnectTo(target_);
  const auto second = ConnectTo(target_);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(ConnectTo(target_).status(),
            absl::ResourceExhaustedError(
                "the server refused the connection: 2 connections of at most 2"));
  DropOneOf(2);
  EXPECT_TRUE(ConnectTo(target_).ok());
}

TEST_F(TransportAccessTest, MoreMemoryThanAllowedIsRefusedAndBothNumbersAreTold) {
  ListenOptions options;
  options.ring_size = 65536;
  options.max_memory = 3 * 65536;
  Listen(options);
  const auto first = ConnectTo(target_);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string segment = std::to_string(2 * 65536 + sysconf(_SC_PAGESIZE));
  EXPECT_EQ(
      ConnectTo(target_).status(),
      absl::ResourceExhaustedError("the server refused the connection: a segment of " + segment +
                                   " bytes beside " + segment + " of at most 196608"));
  DropOneOf(1);
  EXPECT_TRUE(ConnectTo(target_).ok());
}

// CPU time of this process.
int64_t CpuNanos() {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * int64_t{1'000'000'000} + used.tv_nsec;
}

// Would reveal an accepting thread that spins on a client for whom it has no descriptor.
TEST_F(TransportAccessTest, AListenerWithoutDescriptorsRestsAndServesLater) {
  Listen({});
  TestProcess client(Peer(), {"stopped", "connect", target_, "try"});
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, client.pid(), &info, WSTOPPED), 0);
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int64_t used_before = CpuNanos();
  client.Signal(SIGCONT);
  // A span to measure in, not to wait for something.
  const struct timespec span = {0, 300'000'000};
  nanosleep(&span, nullptr);
  const int64_t used = CpuNanos() - used_before;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(used, 150'000'000);
  EXPECT_EQ(client.ReadLine(), "OK");
}

// ---- Sockets that another process has opened

// A listening socket that children inherit.
internal::UniqueFd OpenListening(const std::string& target) {
  internal::UniqueFd listening(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  const auto where = internal::ToSocketAddress(*internal::ParseTarget(target));
  EXPECT_EQ(bind(listening.get(), where.get(), where.size), 0);
  EXPECT_EQ(listen(listening.get(), 100), 0);
  return listening;
}

TEST_F(TransportAccessTest, AConnectionOutlivesWhoOpenedItsListenerAndSeesItsServersDeath) {
  TestProcess opener(Peer(), {"open-for", target_, "listen", "DESCRIPTOR", "serve"});
  ASSERT_EQ(opener.ReadLine(), "ready");
  ASSERT_EQ(opener.Wait(), 0);
  const auto connection = ConnectTo(target_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const pid_t server = (*connection)->peer().pid;
  ASSERT_NE(server, opener.pid());
  const uint32_t interrupts = (*connection)->interrupts();
  EXPECT_EQ((*connection)->WaitReadable(Deadline::AfterNanos(20'000'000), interrupts),
            WaitResult::kDeadline);
  ASSERT_EQ(kill(server, SIGKILL), 0);
  EXPECT_EQ((*connection)->WaitReadable(Deadline::After(kSoon), interrupts), WaitResult::kClosed);
  EXPECT_EQ((*connection)->status(), absl::UnavailableError("Socket closed"));
}

TEST_F(TransportAccessTest, AServiceManagersSocketIsFoundByItsName) {
  const internal::UniqueFd listening = OpenListening(target_);
  TestProcess server("/bin/sh",
                     {"-c",
                      "exec 3<&" + std::to_string(listening.get()) +
                          "; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=rpc; exec \"$0\" "
                          "listen systemd:rpc serve",
                      Peer()});
  ASSERT_EQ(server.ReadLine(), "ready");
  const auto connection = ConnectTo(target_);
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ((*connection)->peer().pid, server.pid());
}

// Would reveal a worker that blocks in accept() because another one was faster.
TEST_F(TransportAccessTest, FourWorkersServeOneListenerAndOnesDeathIsNotThatOfTheOthers) {
  const internal::UniqueFd listening = OpenListening(target_);
  const std::string descriptor = "fd:" + std::to_string(listening.get());
  std::vector<std::unique_ptr<TestProcess>> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<TestProcess>(
        Peer(), std::vector<std::string>{"listen", descriptor, "serve"}));
    ASSERT_EQ(workers.back()->ReadLine(), "ready");
  }
  // One by one they are stopped, so that each other one has clients.
  std::vector<std::unique_ptr<Connection>> connections;
  std::set<pid_t> servers;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 5; ++j) {
      auto connection = ConnectTo(target_);
      ASSERT_TRUE(connection.ok()) << connection.status();
      servers.insert((*connection)->peer().pid);
      connections.push_back(*std::move(connection));
    }
    // A stopped worker accepts nothing, and must not keep a client from the others.
    if (i == 3) break;
    workers[i]->Signal(SIGSTOP);
    siginfo_t info;
    ASSERT_EQ(waitid(P_PID, workers[i]->pid(), &info, WSTOPPED), 0);
  }
  EXPECT_TRUE(servers.count(workers[3]->pid()));
  for (int i = 0; i < 3; ++i) workers[i]->Signal(SIGCONT);
  workers[3]->Kill();
  const Deadline deadline = Deadline::After(kSoon);
  for (const auto& connection : connections) {
    const bool dead = connection->peer().pid == workers[3]->pid();
    while (dead && !connection->closed() && !deadline.passed()) sched_yield();
    EXPECT_EQ(connection->closed(), dead);
  }
  EXPECT_TRUE(ConnectTo(target_).ok());
}

}  // namespace
}  // namespace locket::transport
