#include "locket/transport/internal/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/close_aside.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/kernel_features.h"

// Newer than Debian 12's kernel headers.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

namespace locket::transport::internal {
namespace {

// The kernel's limit of the descriptors in a message (SCM_MAX_FD).
constexpr size_t kMaxReceived = 253;

// Control data of one message: descriptors and the sender's credentials.
constexpr size_t kControlSize =
    CMSG_SPACE(kMaxReceived * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred));

void TakeControl(struct msghdr& header, SocketMessage& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_RIGHTS) {
      const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd;
        memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
        message.descriptors.emplace_back(fd);
      }
    } else if (part->cmsg_type == SCM_CREDENTIALS) {
      struct ucred sender;
      memcpy(&sender, CMSG_DATA(part), sizeof(sender));
      message.sender = PeerIdentity{sender.pid, sender.uid, sender.gid};
    }
  }
}

}  // namespace

SocketMessage& SocketMessage::operator=(SocketMessage&& other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(descriptors, other.descriptors);
  std::swap(sender, other.sender);
  return *this;
}

SocketMessage::~SocketMessage() {
  for (UniqueFd& each : descriptors) CloseAside(std::move(each));
}

absl::Status SendMessage(int socket, std::string_view bytes,
                         std::initializer_list<int> descriptors) {
  if (descriptors.size() != 0 && !UsedKernelFeatures().scm_rights) {
    return ErrnoStatus(EPERM, "sendmsg(SCM_RIGHTS)");
  }
  struct iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  struct msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (descriptors.size() != 0) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    memcpy(CMSG_DATA(rights), descriptors.begin(), descriptors.size() * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return absl::OkStatus();
  if (errno == EPIPE || errno == ECONNRESET) return absl::UnavailableError("Socket closed");
  return ErrnoStatus(errno, absl::StrCat("sendmsg of ", bytes.size(), " bytes"));
}

absl::StatusOr<std::optional<SocketMessage>> TryReceiveMessage(int socket, size_t max_bytes) {
  SocketMessage message;
  message.bytes.resize(max_bytes);
  struct iovec part = {message.bytes.data(), message.bytes.size()};
  alignas(cmsghdr) char control[kControlSize];
  struct msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t received;
  do {
    received = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno == ECONNRESET) return absl::UnavailableError("Socket closed");
    return ErrnoStatus(errno, "recvmsg");
  }
  TakeControl(header, message);
  if (received == 0) return absl::UnavailableError("Socket closed");
  if ((header.msg_flags & MSG_CTRUNC) != 0) {
    // There was room for all: the kernel had no numbers to give.
    return absl::ResourceExhaustedError("no file descriptor left to receive with");
  }
  if ((header.msg_flags & MSG_TRUNC) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a handshake message of more than ", max_bytes, " bytes"));
  }
  message.bytes.resize(static_cast<size_t>(received));
  return message;
}

absl::StatusOr<SocketMessage> ReceiveMessage(int socket, size_t max_bytes, Deadline deadline) {
  for (;;) {
    absl::StatusOr<std::optional<SocketMessage>> message = TryReceiveMessage(socket, max_bytes);
    if (!message.ok()) return message.status();
    if (message->has_value()) return **std::move(message);
    if (deadline.passed()) return absl::DeadlineExceededError("Deadline Exceeded");
    struct pollfd readable = {socket, POLLIN, 0};
    // A millisecond more than is left, so that the loop does not spin through the last one.
    const int64_t millis = std::min<int64_t>(deadline.nanos_left() / 1000000 + 1, 1 << 30);
    poll(&readable, 1, static_cast<int>(millis));
  }
}

absl::StatusOr<PeerIdentity> ConnectedPeer(int socket) {
  struct ucred peer;
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return ErrnoStatus(errno, "getsockopt(SO_PEERCRED)");
  }
  return PeerIdentity{peer.pid, peer.uid, peer.gid};
}

void AllowDescriptors(int socket, bool allow) {
  if (!UsedKernelFeatures().so_passrights) return;
  const int value = allow ? 1 : 0;
  setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &value, sizeof(value));
}

UniqueFd ConnectedPidfd(int socket) {
  int pidfd = -1;
  socklen_t size = sizeof(pidfd);
  if (!UsedKernelFeatures().pidfd || !UsedKernelFeatures().so_peerpidfd ||
      getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) != 0) {
    return UniqueFd();
  }
  return UniqueFd(pidfd);
}

}  // namespace locket::transport::internal
