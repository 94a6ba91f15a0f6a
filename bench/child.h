// Processes that a benchmark starts: this program again, with another role.
//
// Nobody waits for ever. The parent's waits have deadlines, and notice a child's death at once by
// the end of file on the socket between them; a child dies with its parent (PR_SET_PDEATHSIG).
// Children are never forks that go on without exec: threads, locks and mappings of the parent
// would be in the measurement.
#ifndef LOCKET_BENCH_CHILD_H_
#define LOCKET_BENCH_CHILD_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/pair.pb.h"

namespace locket::bench {

using Deadline = std::chrono::steady_clock::time_point;

inline Deadline In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// The parent's end. Used by one thread.
class ChildProcess {
 public:
  // Starts /proc/self/exe with --child=<role, as text>; parent_fd and parent_pid are filled in
  // here. The child inherits role.setup.memory_fd and no other descriptor of ours.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(ChildRole role);

  // SIGKILL, where Finish() has not seen the end.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // The child's next line. DEADLINE_EXCEEDED if there is none in time; CANCELLED after SIGINT or
  // SIGTERM (see CatchInterrupts()); INTERNAL, with the reason, if this child or `companion` fails
  // or ends first.
  absl::StatusOr<std::string> ReadLine(Deadline deadline, ChildProcess* companion = nullptr);

  // Asks the child to stop and waits until it has. An error if it does not, or not with status 0.
  absl::Status Finish(Deadline deadline);

 private:
  ChildProcess(std::string what, pid_t pid, int pidfd, int fd);

  // `failure`, of which the end of the companion may be the cause: then it says so.
  static absl::Status Cause(absl::Status failure, ChildProcess* companion);

  absl::Status WaitForEnd(Deadline deadline);

  const std::string what_;  // "the server of locket, pid 123"
  const pid_t pid_;
  const int pidfd_;
  int fd_;
  bool reaped_ = false;
  std::string buffer_;
};

// The child's end.
class ParentLink {
 public:
  // From here on the child dies with its parent; if the parent is dead already, it dies now.
  explicit ParentLink(const ChildRole& role);

  void Ready() { SendLine("ready"); }
  void SendLine(const std::string& line);
  void SendError(const absl::Status& status);

  // Sleeps until the parent calls Finish().
  void WaitForStop();

 private:
  const int fd_;
};

// From here on SIGINT and SIGTERM end the waits above instead of the process, so that the program
// can clean up. For the parent only.
void CatchInterrupts();

}  // namespace locket::bench

#endif  // LOCKET_BENCH_CHILD_H_
