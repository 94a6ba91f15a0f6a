#include "locket/bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "google/protobuf/text_format.h"

namespace locket::bench {
namespace {

constexpr char kErrorPrefix[] = "error: ";
constexpr std::chrono::milliseconds kEndOfDeadChild{1000};
constexpr std::chrono::milliseconds kCauseOfFailure{200};

volatile sig_atomic_t interrupted = 0;

int MillisecondsLeft(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000));
}

std::string RoleName(const ChildRole& role) {
  return absl::StrCat("the ", role.role() == ChildRole::SERVER ? "server" : "client", " of ",
                      role.system());
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(ChildRole role) {
  int link[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  role.set_parent_fd(link[1]);
  role.set_parent_pid(getpid());
  std::string text;
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.PrintToString(role, &text);

  std::string name = "locket-bench";
  std::string flag = absl::StrCat("--child=", text);
  char* argv[] = {name.data(), flag.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Onto itself: only takes FD_CLOEXEC off.
  posix_spawn_file_actions_adddup2(&actions, link[1], link[1]);
  posix_spawn_file_actions_adddup2(&actions, role.setup().memory_fd(), role.setup().memory_fd());
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(link[1]);
  if (error != 0) {
    close(link[0]);
    return absl::ErrnoToStatus(error, absl::StrCat("posix_spawn of ", RoleName(role)));
  }
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  auto child = std::unique_ptr<ChildProcess>(
      new ChildProcess(absl::StrCat(RoleName(role), ", pid ", pid), pid, pidfd, link[0]));
  if (pidfd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("pidfd_open(", pid, ")"));
  return child;
}

ChildProcess::ChildProcess(std::string what, pid_t pid, int pidfd, int fd)
    : what_(std::move(what)), pid_(pid), pidfd_(pidfd), fd_(fd) {}

ChildProcess::~ChildProcess() {
  if (!reaped_) {
    kill(pid_, SIGKILL);  // Ours and not reaped: the number cannot be another process's.
    waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) close(fd_);
  if (pidfd_ >= 0) close(pidfd_);
}

absl::StatusOr<std::string> ChildProcess::ReadLine(Deadline deadline, ChildProcess* companion) {
  for (;;) {
    if (const size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.rfind(kErrorPrefix, 0) == 0) {
        return Cause(
            absl::InternalError(absl::StrCat(what_, ": ", line.substr(strlen(kErrorPrefix)))),
            companion);
      }
      return line;
    }
    if (interrupted) return absl::CancelledError("interrupted");
    pollfd fds[] = {{fd_, POLLIN, 0}, {companion != nullptr ? companion->fd_ : -1, POLLIN, 0}};
    const int ready = poll(fds, 2, MillisecondsLeft(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return absl::ErrnoToStatus(errno, "poll");
    if (ready == 0) return absl::DeadlineExceededError(absl::StrCat("no word from ", what_));
    if (fds[1].revents != 0) {
      absl::StatusOr<std::string> line = companion->ReadLine(deadline);
      if (!line.ok()) return line.status();
      return absl::InternalError(absl::StrCat(companion->what_, " says: ", *line));
    }
    char chunk[1024];
    const ssize_t got = recv(fd_, chunk, sizeof(chunk), MSG_DONTWAIT);
    if (got > 0) {
      buffer_.append(chunk, static_cast<size_t>(got));
    } else if (got == 0 || errno == ECONNRESET) {
      absl::Status end = WaitForEnd(In(kEndOfDeadChild));
      if (end.ok()) end = absl::InternalError(absl::StrCat(what_, ", ended early"));
      return Cause(std::move(end), companion);
    } else if (errno != EAGAIN && errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("recv from ", what_));
    }
  }
}

absl::Status ChildProcess::Cause(absl::Status failure, ChildProcess* companion) {
  if (companion == nullptr) return failure;
  absl::StatusOr<std::string> line = companion->ReadLine(In(kCauseOfFailure));
  if (line.ok() || absl::IsDeadlineExceeded(line.status())) return failure;
  return absl::InternalError(
      absl::StrCat(std::string(line.status().message()), "; so ", std::string(failure.message())));
}

absl::Status ChildProcess::Finish(Deadline deadline) {
  shutdown(fd_, SHUT_WR);
  return WaitForEnd(deadline);
}

absl::Status ChildProcess::WaitForEnd(Deadline deadline) {
  pollfd ended = {pidfd_, POLLIN, 0};
  while (poll(&ended, 1, MillisecondsLeft(deadline)) < 0 && errno == EINTR) {
  }
  int status = 0;
  const pid_t reaped = waitpid(pid_, &status, WNOHANG);
  if (reaped == 0) return absl::InternalError(absl::StrCat(what_, ", does not end"));
  if (reaped < 0) return absl::ErrnoToStatus(errno, absl::StrCat("waitpid(", pid_, ")"));
  reaped_ = true;
  if (WIFSIGNALED(status)) {
    return absl::InternalError(absl::StrCat(what_, ", died of signal ", WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    return absl::InternalError(absl::StrCat(what_, ", ended with status ", WEXITSTATUS(status)));
  }
  return absl::OkStatus();
}

ParentLink::ParentLink(const ChildRole& role) : fd_(role.parent_fd()) {
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have died before the line above.
  if (getppid() != role.parent_pid()) _exit(1);
}

void ParentLink::SendLine(const std::string& line) {
  const std::string text = line + "\n";
  // Short, and the first bytes in an empty socket: never sent in part. A dead parent ends us
  // anyway.
  (void)!send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
}

void ParentLink::SendError(const absl::Status& status) {
  SendLine(kErrorPrefix + absl::StrReplaceAll(status.ToString(), {{"\n", " "}}));
}

void ParentLink::WaitForStop() {
  char byte;
  while (recv(fd_, &byte, 1, 0) < 0 && errno == EINTR) {
  }
}

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };  // no SA_RESTART: poll() returns EINTR
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace locket::bench
