#include "locket/transport/internal/accept_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/shm_connection.h"
#include "locket/transport/log.h"
#include "locket/transport/thread.h"

namespace locket::transport::internal {
namespace {

// How long the listener rests when the process is out of descriptors or memory.
constexpr auto kRest = std::chrono::milliseconds(50);

// Clients in their handshake at once; more wait in the socket's backlog.
constexpr size_t kMaxHandshakes = 256;

absl::Status Watch(int epoll, int fd, void* data) {
  struct epoll_event event = {};
  event.events = EPOLLIN;
  event.data.ptr = data;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, "epoll_ctl(EPOLL_CTL_ADD)");
}

}  // namespace

absl::StatusOr<std::unique_ptr<AcceptLoop>> AcceptLoop::Start(
    std::unique_ptr<ListeningSocket> listening, ListenOptions options, OnConnection on_connection) {
  std::unique_ptr<AcceptLoop> loop(
      new AcceptLoop(std::move(listening), std::move(options), std::move(on_connection)));
  loop->epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  if (!loop->epoll_.valid()) return ErrnoStatus(errno, "epoll_create1");
  loop->waker_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!loop->waker_.valid()) return ErrnoStatus(errno, "eventfd");
  absl::Status watched = Watch(loop->epoll_.get(), loop->waker_.get(), &loop->waker_);
  if (!watched.ok()) return watched;
  watched = Watch(loop->epoll_.get(), loop->listening_->descriptor(), loop->listening_.get());
  if (!watched.ok()) return watched;
  absl::StatusOr<std::thread> thread =
      StartThread("locket-accept", [running = loop.get()] { running->Run(); });
  if (!thread.ok()) return thread.status();
  loop->thread_ = *std::move(thread);
  return loop;
}

AcceptLoop::~AcceptLoop() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(waker_.get(), &one, sizeof(one));
  thread_.join();
}

int AcceptLoop::port() const {
  const Address& address = listening_->address();
  return address.kind == Address::Kind::kPort ? address.port : 1;
}

void AcceptLoop::Run() {
  while (!stopping_.load(std::memory_order_acquire)) {
    struct epoll_event events[32];
    const Deadline next = NextDeadline();
    const int millis =
        next.infinite()
            ? -1
            : static_cast<int>(std::min<int64_t>(next.nanos_left() / 1'000'000 + 1, 1 << 30));
    const int count = epoll_wait(epoll_.get(), events, 32, millis);
    for (int i = 0; i < count; ++i) {
      void* const data = events[i].data.ptr;
      if (data == &waker_) continue;
      if (data == listening_.get()) {
        AcceptAll();
      } else {
        Advance(static_cast<AcceptHandshake*>(data));
      }
    }
    DropLate();
    if (resume_.passed()) WatchListening(true);
  }
}

Deadline AcceptLoop::NextDeadline() const {
  if (handshakes_.empty()) return resume_;
  return Earlier(resume_, handshakes_.front().deadline());
}

void AcceptLoop::WatchListening(bool on) {
  struct epoll_event event = {};
  if (on) event.events = EPOLLIN;
  event.data.ptr = listening_.get();
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listening_->descriptor(), &event);
  resume_ = on ? Deadline::Infinite() : Deadline::After(kRest);
}

void AcceptLoop::AcceptAll() {
  for (;;) {
    if (handshakes_.size() >= kMaxHandshakes) return WatchListening(false);
    UniqueFd client(
        accept4(listening_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // EMFILE, ENFILE, ENOMEM, ENOBUFS: the client stays in the backlog, and the loop must not
      // spin on it.
      Log(LogSeverity::kWarning,
          absl::StrCat("cannot accept a client now: ",
                       std::string(ErrnoStatus(errno, "accept4").message())));
      return WatchListening(false);
    }
    const int fd = client.get();
    handshakes_.emplace_back(std::move(client), options_);
    AcceptHandshake* const handshake = &handshakes_.back();
    if (absl::Status watched = Watch(epoll_.get(), fd, handshake); !watched.ok()) Drop(handshake);
  }
}

void AcceptLoop::Advance(AcceptHandshake* handshake) {
  absl::StatusOr<AcceptHandshake::Progress> progress = handshake->Advance();
  if (!progress.ok()) {
    // A client that hangs up before its hello says nothing worth a line.
    if (!absl::IsUnavailable(progress.status())) {
      Log(LogSeverity::kWarning,
          absl::StrCat("refused a client: ", std::string(progress.status().message())));
    }
    return Drop(handshake);
  }
  if (*progress == AcceptHandshake::Progress::kDone) Finish(handshake);
}

void AcceptLoop::Finish(AcceptHandshake* handshake) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handshake->socket(), nullptr);
  absl::StatusOr<std::unique_ptr<ShmConnection>> connection =
      ShmConnection::Create(handshake->Take(), Side::kAccepting, options_.spin);
  Drop(handshake);
  if (!connection.ok()) {
    Log(LogSeverity::kWarning,
        absl::StrCat("dropped a client: ", std::string(connection.status().message())));
    return;
  }
  on_connection_(*std::move(connection));
}

void AcceptLoop::Drop(AcceptHandshake* handshake) {
  // Closing the socket takes it out of epoll.
  handshakes_.remove_if([handshake](const AcceptHandshake& each) { return &each == handshake; });
}

void AcceptLoop::DropLate() {
  while (!handshakes_.empty() && handshakes_.front().deadline().passed()) {
    handshakes_.pop_front();
  }
}

}  // namespace locket::transport::internal
