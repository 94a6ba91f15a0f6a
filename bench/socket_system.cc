// Plain stream sockets as Systems, Unix and TCP: the least that a kernel's socket costs, no RPC, no
// frames.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/bench/limits.h"
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

// One of the two kinds.
class Domain {
 public:
  virtual ~Domain() = default;
  virtual std::string name() const = 0;
  virtual absl::StatusOr<Socket> Listen(const Setup& setup, int backlog) const = 0;
  virtual absl::StatusOr<Socket> Connect(const Setup& setup) const = 0;
  // Of an accepted socket.
  virtual absl::Status Prepare(const Socket&) const { return absl::OkStatus(); }
};

class UnixDomain final : public Domain {
 public:
  std::string name() const override { return "unix"; }

  absl::StatusOr<Socket> Listen(const Setup& setup, int backlog) const override {
    absl::StatusOr<sockaddr_un> address = Address(setup.socket_path());
    if (!address.ok()) return address.status();
    Socket listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(listener.fd(), reinterpret_cast<sockaddr*>(&*address), sizeof(*address)) != 0 ||
        listen(listener.fd(), backlog) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("listening on ", setup.socket_path()));
    }
    return listener;
  }

  absl::StatusOr<Socket> Connect(const Setup& setup) const override {
    absl::StatusOr<sockaddr_un> address = Address(setup.socket_path());
    if (!address.ok()) return address.status();
    Socket connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(connection.fd(), reinterpret_cast<sockaddr*>(&*address), sizeof(*address)) != 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("connecting to ", setup.socket_path()));
    }
    return connection;
  }

 private:
  static absl::StatusOr<sockaddr_un> Address(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
      return absl::InvalidArgumentError(absl::StrCat("too long for a socket: ", path));
    }
    memcpy(address.sun_path, path.data(), path.size());
    return address;
  }
};

class TcpDomain final : public Domain {
 public:
  std::string name() const override { return "tcp"; }

  // On a free port, which the client finds in the shared memory.
  absl::StatusOr<Socket> Listen(const Setup& setup, int backlog) const override {
    Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener.fd(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener.fd(), backlog) != 0 ||
        getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
        pwrite(setup.memory_fd(), &address, sizeof(address), 0) != sizeof(address)) {
      return absl::ErrnoToStatus(errno, "listening on 127.0.0.1");
    }
    return listener;
  }

  absl::StatusOr<Socket> Connect(const Setup& setup) const override {
    Socket connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    if (pread(setup.memory_fd(), &address, sizeof(address), 0) != sizeof(address) ||
        connect(connection.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return absl::ErrnoToStatus(errno, "connecting to 127.0.0.1");
    }
    if (absl::Status prepared = Prepare(connection); !prepared.ok()) return prepared;
    return connection;
  }

  absl::Status Prepare(const Socket& socket) const override {
    const int on = 1;
    if (setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0) {
      return absl::OkStatus();
    }
    return absl::ErrnoToStatus(errno, "setsockopt(TCP_NODELAY)");
  }
};

class SocketClient final : public Client {
 public:
  // The last socket talks, the others keep silent.
  SocketClient(const Setup& setup, std::vector<Socket> sockets)
      : setup_(setup),
        sockets_(std::move(sockets)),
        socket_(sockets_.back()),
        request_(setup.shape().request_bytes(), 'q'),
        reply_(setup.shape().reply_bytes(), '\0') {}

  absl::Status Call() override {
    if (absl::Status sent = socket_.Send(request_); !sent.ok()) return sent;
    return socket_.Receive(reply_);
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    if (setup_.pattern() == Setup::PING_PONG) {
      return MeasureCalls(plan, [this] { return Call(); });
    }
    return MeasureStream(
        plan,
        [this](bool last) {
          request_[0] = last ? kLastMessage : kMessage;
          return socket_.Send(request_);
        },
        [this] { return socket_.Receive(reply_); });
  }

 private:
  const Setup setup_;
  std::vector<Socket> sockets_;
  Socket& socket_;
  std::string request_;
  std::string reply_;
};

// Reads one message, and answers it if it is to be answered.
class Answerer {
 public:
  explicit Answerer(const Setup& setup)
      : one_way_(setup.pattern() == Setup::ONE_WAY),
        request_(setup.shape().request_bytes(), '\0'),
        reply_(setup.shape().reply_bytes(), 'p') {}

  absl::Status Answer(Socket& connection) {
    if (absl::Status status = connection.Receive(request_); !status.ok()) return status;
    if (one_way_ && request_[0] != kLastMessage) return absl::OkStatus();
    return connection.Send(reply_);
  }

 private:
  const bool one_way_;
  std::string request_;
  const std::string reply_;
};

// One thread for all connections, as event loops do it.
absl::Status ServeMany(std::vector<Socket> connections, Answerer answerer) {
  const Socket epoll(epoll_create1(EPOLL_CLOEXEC));
  for (Socket& connection : connections) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    if (epoll_ctl(epoll.fd(), EPOLL_CTL_ADD, connection.fd(), &event) != 0) {
      return absl::ErrnoToStatus(errno, "epoll_ctl");
    }
  }
  for (;;) {
    epoll_event events[64];
    const int count = epoll_wait(epoll.fd(), events, 64, -1);
    for (int i = 0; i < count; ++i) {
      absl::Status status = answerer.Answer(*static_cast<Socket*>(events[i].data.ptr));
      // The client ends all of its connections at once.
      if (absl::IsOutOfRange(status)) return absl::OkStatus();
      if (!status.ok()) return status;
    }
  }
}

class SocketSystem final : public System {
 public:
  explicit SocketSystem(std::unique_ptr<Domain> domain) : domain_(std::move(domain)) {}

  std::string name() const override { return domain_->name(); }

  absl::Status Serve(const Setup& setup, ParentLink& parent) const override {
    const size_t count = std::max(setup.connections(), 1u);
    if (absl::Status raised = AllowDescriptors(count); !raised.ok()) return raised;
    absl::StatusOr<Socket> listener = domain_->Listen(setup, static_cast<int>(count));
    if (!listener.ok()) return listener.status();
    parent.Ready();
    std::vector<Socket> connections;
    while (connections.size() < count) {
      connections.emplace_back(accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connections.back().fd() < 0) return absl::ErrnoToStatus(errno, "accept");
      absl::Status prepared = domain_->Prepare(connections.back());
      if (!prepared.ok()) return prepared;
    }
    Answerer answerer(setup);
    if (setup.connections() > 0) return ServeMany(std::move(connections), std::move(answerer));
    for (;;) {
      absl::Status status = answerer.Answer(connections[0]);
      if (absl::IsOutOfRange(status)) return absl::OkStatus();
      if (!status.ok()) return status;
    }
  }

  absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const override {
    const size_t count = std::max(setup.connections(), 1u);
    if (absl::Status raised = AllowDescriptors(count); !raised.ok()) return raised;
    std::vector<Socket> sockets;
    while (sockets.size() < count) {
      absl::StatusOr<Socket> connection = domain_->Connect(setup);
      if (!connection.ok()) return connection.status();
      sockets.push_back(*std::move(connection));
    }
    return std::make_unique<SocketClient>(setup, std::move(sockets));
  }

 private:
  const std::unique_ptr<Domain> domain_;
};

}  // namespace

std::unique_ptr<System> MakeUnixSystem() {
  return std::make_unique<SocketSystem>(std::make_unique<UnixDomain>());
}

std::unique_ptr<System> MakeTcpSystem() {
  return std::make_unique<SocketSystem>(std::make_unique<TcpDomain>());
}

}  // namespace locket::bench
