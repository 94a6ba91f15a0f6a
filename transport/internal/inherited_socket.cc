#include "locket/transport/internal/inherited_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "locket/transport/internal/errno_status.h"

namespace locket::transport::internal {
namespace {

constexpr int kFirstPassed = 3;

std::string Environment(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr ? value : "";
}

absl::StatusOr<std::optional<UniqueFd>> Duplicate(int fd) {
  UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.valid()) return copy;
  return absl::InvalidArgumentError(absl::StrCat("descriptor ", fd, " cannot be listened on: ",
                                                 std::string(ErrnoStatus(errno, "dup").message())));
}

// The names of the descriptors from kFirstPassed on.
absl::StatusOr<std::vector<std::string>> PassedNames() {
  const std::string pid = Environment("LISTEN_PID");
  if (pid != absl::StrCat(getpid())) {
    return absl::FailedPreconditionError(
        absl::StrCat("no socket was passed to this process: LISTEN_PID is \"", pid,
                     "\", and its pid ", getpid()));
  }
  int count = 0;
  if (!absl::SimpleAtoi(Environment("LISTEN_FDS"), &count) || count < 0 || count > 65536) {
    return absl::FailedPreconditionError(
        absl::StrCat("LISTEN_FDS is \"", Environment("LISTEN_FDS"), "\", and no number"));
  }
  std::vector<std::string> names = absl::StrSplit(Environment("LISTEN_FDNAMES"), ':');
  names.resize(static_cast<size_t>(count));
  return names;
}

absl::StatusOr<std::optional<UniqueFd>> PassedSocket(const std::string& name) {
  absl::StatusOr<std::vector<std::string>> names = PassedNames();
  if (!names.ok()) return names.status();
  int found = -1;
  int matches = 0;
  for (size_t i = 0; i < names->size(); ++i) {
    const int fd = kFirstPassed + static_cast<int>(i);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (!name.empty() && (*names)[i] != name) continue;
    found = fd;
    ++matches;
  }
  if (matches == 1) return Duplicate(found);
  return absl::FailedPreconditionError(absl::StrCat(
      "of ", names->size(), " sockets that were passed to this process, ", matches,
      name.empty() ? std::string() : absl::StrCat(" are named \"", name, "\""), ", and not 1"));
}

}  // namespace

absl::StatusOr<std::optional<UniqueFd>> InheritedSocket(const std::string& target) {
  constexpr std::string_view kNumber = "fd:";
  constexpr std::string_view kPassed = "systemd:";
  if (target.rfind(kPassed, 0) == 0) return PassedSocket(target.substr(kPassed.size()));
  if (target.rfind(kNumber, 0) != 0) return std::nullopt;
  int fd = -1;
  if (!absl::SimpleAtoi(target.substr(kNumber.size()), &fd) || fd < 0) {
    return absl::InvalidArgumentError(absl::StrCat("no number of a descriptor in ", target));
  }
  return Duplicate(fd);
}

}  // namespace locket::transport::internal
