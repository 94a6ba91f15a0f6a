// A second process of a test: a data binary, started by exec and never by a bare fork.
#ifndef LOCKET_TESTS_TEST_PROCESS_H_
#define LOCKET_TESTS_TEST_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace locket::tests {

// The process dies with this object (SIGKILL), and with the thread that made it. Used by one
// thread.
class TestProcess {
 public:
  // Starts `program` (a path in the runfiles) with the arguments.
  TestProcess(const std::string& program, const std::vector<std::string>& arguments);
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }

  // The next line that it prints, without the newline; "<end>" if it ends first, "<late>" after 10
  // s.
  std::string ReadLine();

  // SIGKILL. Returns the time just before it, on CLOCK_MONOTONIC in nanoseconds.
  int64_t Kill();

  // Any other signal.
  void Signal(int signal);

  // Waits for its end, 10 s at most; its exit code, or minus the signal that ended it.
  int Wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string buffered_;
};

}  // namespace locket::tests

#endif  // LOCKET_TESTS_TEST_PROCESS_H_
