// A plain Unix stream socket as a System: the least that a kernel's socket costs, no RPC, no
// frames.
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/bench/measure.h"
#include "locket/bench/system.h"

namespace locket::bench {
namespace {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }

  int fd() const { return fd_; }

  absl::Status Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n >= 0) {
        sent += static_cast<size_t>(n);
      } else if (errno != EINTR) {
        return absl::ErrnoToStatus(errno, absl::StrCat("send of ", bytes.size(), " bytes"));
      }
    }
    return absl::OkStatus();
  }

  // Fills `bytes`. OUT_OF_RANGE at the end of the stream.
  absl::Status Receive(std::string& bytes) {
    for (size_t received = 0; received < bytes.size();) {
      const ssize_t n = recv(fd_, bytes.data() + received, bytes.size() - received, 0);
      if (n > 0) {
        received += static_cast<size_t>(n);
      } else if (n == 0) {
        return absl::OutOfRangeError("the peer closed the socket");
      } else if (errno != EINTR) {
        return absl::ErrnoToStatus(errno, absl::StrCat("recv of ", bytes.size(), " bytes"));
      }
    }
    return absl::OkStatus();
  }

 private:
  int fd_;
};

absl::StatusOr<sockaddr_un> Address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("too long for a socket: ", path));
  }
  memcpy(address.sun_path, path.data(), path.size());
  return address;
}

class UnixClient final : public Client {
 public:
  UnixClient(const Setup& setup, Socket socket)
      : socket_(std::move(socket)),
        request_(setup.shape().request_bytes(), 'q'),
        reply_(setup.shape().reply_bytes(), '\0') {}

  absl::Status Call() override {
    if (absl::Status sent = socket_.Send(request_); !sent.ok()) return sent;
    return socket_.Receive(reply_);
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    return MeasureCalls(plan, [this] { return Call(); });
  }

 private:
  Socket socket_;
  const std::string request_;
  std::string reply_;
};

class UnixSystem final : public System {
 public:
  std::string name() const override { return "unix"; }

  absl::Status Serve(const Setup& setup, ParentLink& parent) const override {
    absl::StatusOr<sockaddr_un> address = Address(setup.socket_path());
    if (!address.ok()) return address.status();
    Socket listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.fd(), reinterpret_cast<sockaddr*>(&*address), sizeof(*address)) != 0 ||
        listen(listener.fd(), 1) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("listening on ", setup.socket_path()));
    }
    parent.Ready();
    Socket connection(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.fd() < 0) return absl::ErrnoToStatus(errno, "accept");
    std::string request(setup.shape().request_bytes(), '\0');
    const std::string reply(setup.shape().reply_bytes(), 'p');
    for (;;) {
      absl::Status status = connection.Receive(request);
      if (absl::IsOutOfRange(status)) return absl::OkStatus();
      if (status.ok()) status = connection.Send(reply);
      if (!status.ok()) return status;
    }
  }

  absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const override {
    absl::StatusOr<sockaddr_un> address = Address(setup.socket_path());
    if (!address.ok()) return address.status();
    Socket connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(connection.fd(), reinterpret_cast<sockaddr*>(&*address), sizeof(*address)) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("connecting to ", setup.socket_path()));
    }
    return std::make_unique<UnixClient>(setup, std::move(connection));
  }
};

}  // namespace

std::unique_ptr<System> MakeUnixSystem() { return std::make_unique<UnixSystem>(); }

}  // namespace locket::bench
