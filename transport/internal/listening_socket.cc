#include "locket/transport/internal/listening_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/deadline.h"
#include "locket/transport/internal/errno_status.h"

namespace locket::transport::internal {
namespace {

constexpr int kBacklog = 4096;  // The kernel caps it at net.core.somaxconn.
constexpr auto kLockTimeout = std::chrono::seconds(2);

// From the dynamic ports, as TCP's port 0.
constexpr uint16_t kFirstFreePort = 49152;

UniqueFd NewSocket() {
  return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The directory, locked for as long as the descriptor is open.
absl::StatusOr<UniqueFd> LockDirectory(const std::string& path) {
  UniqueFd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return ErrnoStatus(errno, absl::StrCat("open(", path, ")"));
  const Deadline deadline = Deadline::After(kLockTimeout);
  while (flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return ErrnoStatus(errno, absl::StrCat("flock(", path, ")"));
    }
    if (deadline.passed()) {
      return absl::UnavailableError(
          absl::StrCat("the directory ", path, " is locked by another process for over 2 s"));
    }
    const struct timespec pause = {0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  return directory;
}

// OK if the socket's file at the path is dead; ALREADY_EXISTS if it is not, or not known to be.
absl::Status CheckDead(const Address& address) {
  const UniqueFd probe = NewSocket();
  if (!probe.valid()) return ErrnoStatus(errno, "socket(AF_UNIX, SOCK_SEQPACKET)");
  const SocketAddress where = ToSocketAddress(address);
  if (connect(probe.get(), where.get(), where.size) == 0 || errno == EAGAIN) {
    return absl::AlreadyExistsError(absl::StrCat("a live process listens on ", address.name));
  }
  // Nobody listens, or somebody was faster.
  if (errno == ECONNREFUSED || errno == ENOENT) return absl::OkStatus();
  // EPROTOTYPE is somebody else's kind of socket, EACCES another user's.
  return absl::AlreadyExistsError(
      absl::StrCat("the socket ", address.name, " is not known to be dead: ", strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ListeningSocket>> ListeningSocket::Listen(Address address,
                                                                         mode_t mode) {
  UniqueFd socket = NewSocket();
  if (!socket.valid()) return ErrnoStatus(errno, "socket(AF_UNIX, SOCK_SEQPACKET)");
  std::unique_ptr<ListeningSocket> listening(
      new ListeningSocket(std::move(address), std::move(socket)));
  absl::Status status = listening->address_.kind == Address::Kind::kPath
                            ? listening->ListenAtPath(mode)
                            : listening->ListenAtName();
  if (!status.ok()) return status;
  return listening;
}

absl::StatusOr<std::unique_ptr<ListeningSocket>> ListeningSocket::Adopt(UniqueFd socket) {
  const std::initializer_list<std::tuple<int, int, const char*>> wanted = {
      {SO_DOMAIN, AF_UNIX, "domain"},
      {SO_TYPE, SOCK_SEQPACKET, "type"},
      {SO_ACCEPTCONN, 1, "listening state"}};
  for (const auto& [option, expected, name] : wanted) {
    int value = -1;
    socklen_t size = sizeof(value);
    if (getsockopt(socket.get(), SOL_SOCKET, option, &value, &size) != 0 || value != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("the inherited descriptor is no listening Unix socket of sequenced packets "
                       "(ListenSequentialPacket=): its ",
                       name, " is ", value, ", and not ", expected));
    }
  }
  SocketAddress name;
  name.size = sizeof(name.address);
  if (getsockname(socket.get(), reinterpret_cast<struct sockaddr*>(&name.address), &name.size) !=
      0) {
    return ErrnoStatus(errno, "getsockname");
  }
  const int flags = fcntl(socket.get(), F_GETFL);
  if (flags < 0 || fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "fcntl(O_NONBLOCK)");
  }
  return std::unique_ptr<ListeningSocket>(
      new ListeningSocket(FromSocketAddress(name), std::move(socket)));
}

absl::Status ListeningSocket::ListenAtPath(mode_t mode) {
  const std::string& path = address_.name;
  const std::string directory = DirectoryOf(path);
  absl::StatusOr<UniqueFd> lock = LockDirectory(directory);
  if (!lock.ok()) return lock.status();

  struct stat found;
  if (lstat(path.c_str(), &found) == 0) {
    if (!S_ISSOCK(found.st_mode)) {
      return absl::AlreadyExistsError(absl::StrCat(path, " is there, and is no socket"));
    }
    if (absl::Status dead = CheckDead(address_); !dead.ok()) return dead;
  }

  // Through /proc, which must be mounted, so that the temporary name cannot be too long.
  static std::atomic<uint32_t> count{0};
  const std::string name = absl::StrCat(".locket.", getpid(), ".", count.fetch_add(1));
  const std::string temporary = absl::StrCat("/proc/self/fd/", lock->get(), "/", name);
  const SocketAddress where = ToSocketAddress({Address::Kind::kPath, temporary});
  unlinkat(lock->get(), name.c_str(), 0);  // Of a dead process that had our pid.
  if (bind(socket_.get(), where.get(), where.size) != 0) {
    return ErrnoStatus(errno, absl::StrCat("bind(", temporary, ") in ", directory));
  }
  absl::Status status = absl::OkStatus();
  struct stat own;
  if (fchmodat(lock->get(), name.c_str(), mode, 0) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("chmod of a socket in ", directory));
  } else if (listen(socket_.get(), kBacklog) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("listen(", path, ")"));
  } else if (fstatat(lock->get(), name.c_str(), &own, AT_SYMLINK_NOFOLLOW) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("stat of a socket in ", directory));
  } else if (renameat(lock->get(), name.c_str(), AT_FDCWD, path.c_str()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("rename to ", path));
  }
  if (!status.ok()) {
    unlinkat(lock->get(), name.c_str(), 0);
    return status;
  }
  device_ = own.st_dev;
  inode_ = own.st_ino;
  return absl::OkStatus();
}

absl::Status ListeningSocket::ListenAtName() {
  const bool any_port = address_.kind == Address::Kind::kPort && address_.port == 0;
  uint16_t port = kFirstFreePort + static_cast<uint16_t>(getpid()) % (65536 - kFirstFreePort);
  for (int tries = 65536 - kFirstFreePort; tries > 0; --tries) {
    if (any_port) address_ = PortAddress(port);
    const SocketAddress where = ToSocketAddress(address_);
    if (bind(socket_.get(), where.get(), where.size) == 0) {
      if (listen(socket_.get(), kBacklog) == 0) return absl::OkStatus();
      return ErrnoStatus(errno, absl::StrCat("listen(", address_.ToString(), ")"));
    }
    if (errno != EADDRINUSE) {
      return ErrnoStatus(errno, absl::StrCat("bind(", address_.ToString(), ")"));
    }
    if (!any_port) break;
    port = port == 65535 ? kFirstFreePort : port + 1;
  }
  return absl::AlreadyExistsError(absl::StrCat("a live process listens on ", address_.ToString()));
}

ListeningSocket::~ListeningSocket() {
  // A forked child has a copy of this object, and must leave the parent's file alone.
  if (inode_ == 0 || owner_ != getpid()) return;
  absl::StatusOr<UniqueFd> lock = LockDirectory(DirectoryOf(address_.name));
  if (!lock.ok()) return;  // The file stays: the next server finds it dead.
  struct stat found;
  if (lstat(address_.name.c_str(), &found) == 0 && found.st_dev == device_ &&
      found.st_ino == inode_) {
    unlink(address_.name.c_str());
  }
}

}  // namespace locket::transport::internal
