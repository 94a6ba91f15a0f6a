#include "locket/tests/test_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "locket/transport/deadline.h"

extern char** environ;

namespace locket::tests {
namespace {

using transport::Deadline;

constexpr int kSoonMillis = 10'000;

}  // namespace

TestProcess::TestProcess(const std::string& program, const std::vector<std::string>& arguments) {
  int pipe[2];
  EXPECT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  EXPECT_EQ(posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv.data(), environ), 0)
      << program;
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  output_ = pipe[0];
}

TestProcess::~TestProcess() {
  if (!ended_) {
    Kill();
    Wait();
  }
  close(output_);
}

std::string TestProcess::ReadLine() {
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(kSoonMillis));
  for (;;) {
    if (const size_t end = buffered_.find('\n'); end != std::string::npos) {
      const std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    struct pollfd readable = {output_, POLLIN, 0};
    const int millis = static_cast<int>(deadline.nanos_left() / 1'000'000) + 1;
    if (deadline.passed() || poll(&readable, 1, millis) == 0) {
      return "<late>";
    }
    char bytes[256];
    const ssize_t count = read(output_, bytes, sizeof(bytes));
    if (count <= 0) return "<end>";
    buffered_.append(bytes, static_cast<size_t>(count));
  }
}

int64_t TestProcess::Kill() {
  const int64_t before = transport::MonotonicNanos();
  kill(pid_, SIGKILL);
  return before;
}

void TestProcess::Signal(int signal) { kill(pid_, signal); }

int TestProcess::Wait() {
  if (!ended_) {
    // A pidfd, since waitpid() has no deadline.
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    struct pollfd over = {pidfd, POLLIN, 0};
    if (poll(&over, 1, kSoonMillis) != 1) {
      ADD_FAILURE() << "process " << pid_ << " does not end";
      Kill();
    }
    close(pidfd);
    // Not WNOHANG: the leak sanitizer may still trace the dead process, and has it for a moment.
    EXPECT_EQ(waitpid(pid_, &status_, 0), pid_);
    ended_ = true;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
}

}  // namespace locket::tests
