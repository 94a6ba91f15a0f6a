#include "locket/examples/helloworld/plain_socket.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "locket/examples/helloworld/median.h"

namespace helloworld {
namespace {

// False at end of file and on errors; errno is 0 at end of file.
bool ReadAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, data, size);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t put = send(fd, data, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    data += put;
    size -= static_cast<size_t>(put);
  }
  return true;
}

}  // namespace

absl::StatusOr<double> PlainSocketRoundTripMicros(size_t request_size, size_t reply_size,
                                                  int calls) {
  std::string request(request_size, 'q');
  std::string reply(reply_size, 'r');
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return absl::ErrnoToStatus(error, "fork");
  }
  if (child == 0) {  // System calls alone from here on: the parent may have had other threads.
    close(ends[0]);
    while (ReadAll(ends[1], request.data(), request_size) &&
           WriteAll(ends[1], reply.data(), reply_size)) {
    }
    _exit(0);
  }
  close(ends[1]);
  const absl::Cleanup end_child = [&] {
    close(ends[0]);  // The child reads end of file and leaves.
    waitpid(child, nullptr, 0);
  };

  std::vector<std::chrono::nanoseconds> times;
  times.reserve(static_cast<size_t>(calls));
  for (int i = 0; i < calls; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (!WriteAll(ends[0], request.data(), request_size) ||
        !ReadAll(ends[0], reply.data(), reply_size)) {
      return absl::ErrnoToStatus(errno == 0 ? EPIPE : errno, "a plain socket's round trip");
    }
    times.push_back(std::chrono::steady_clock::now() - start);
  }
  return MedianMicros(std::move(times));
}

}  // namespace helloworld
