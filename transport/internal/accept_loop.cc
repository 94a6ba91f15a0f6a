#include "locket/transport/internal/accept_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/close_aside.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/shm_connection.h"
#include "locket/transport/internal/socket.h"
#include "locket/transport/log.h"
#include "locket/transport/thread.h"

namespace locket::transport::internal {
namespace {

// How long the listener rests when the process is out of descriptors or memory.
constexpr auto kRest = std::chrono::milliseconds(50);

// Clients in their handshake at once; when more come, the oldest ones go.
constexpr size_t kMaxHandshakes = 256;

// Descriptors of clients that wait to be closed (close_aside.h) before no more clients are
// accepted: they are counted against this process's limit.
constexpr size_t kMaxClosing = 256;

// Clients that are accepted before the others go on.
constexpr int kAcceptedInTurn = 64;

// Refusals are logged this often at most.
constexpr int64_t kRefusalNanos = 1'000'000'000;

absl::Status Watch(int epoll, int fd, uint64_t id) {
  struct epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = id;
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
  absl::Status watched = Watch(loop->epoll_.get(), loop->waker_.get(), kWaker);
  if (!watched.ok()) return watched;
  // Until a client is admitted.
  AllowDescriptors(loop->listening_->descriptor(), false);
  watched = Watch(loop->epoll_.get(), loop->listening_->descriptor(), kListening);
  if (!watched.ok()) return watched;
  absl::StatusOr<std::thread> thread =
      StartThread("locket-accept", [running = loop.get()] { running->Run(); });
  if (!thread.ok()) return thread.status();
  loop->thread_ = *std::move(thread);
  return loop;
}

AcceptLoop::~AcceptLoop() {
  if (!thread_.joinable()) return;
  if (owner_ != getpid()) {  // A forked child has no such thread.
    thread_.detach();
    return;
  }
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
      const uint64_t id = events[i].data.u64;
      if (id == kListening) AcceptSome();
      if (id >= kFirstHandshake) Advance(id);
    }
    DropLate();
    if (resume_.passed()) WatchListening(true);
  }
  while (!handshakes_.empty()) Drop(handshakes_.begin());
}

Deadline AcceptLoop::NextDeadline() const {
  if (handshakes_.empty()) return resume_;
  return Earlier(resume_, handshakes_.begin()->second.deadline());
}

void AcceptLoop::WatchListening(bool on) {
  struct epoll_event event = {};
  if (on) event.events = EPOLLIN;
  event.data.u64 = kListening;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listening_->descriptor(), &event);
  resume_ = on ? Deadline::Infinite() : Deadline::After(kRest);
}

void AcceptLoop::AcceptSome() {
  if (ClosingAside() > kMaxClosing) {
    LogRefusal(absl::ResourceExhaustedError("descriptors that clients sent take long to close"));
    return WatchListening(false);
  }
  // Not all at once: those in their handshake have a turn in between.
  for (int i = 0; i < kAcceptedInTurn; ++i) {
    UniqueFd client(
        accept4(listening_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // EMFILE, ENFILE, ENOMEM, ENOBUFS: the client stays in the backlog, and the loop must not
      // spin on it.
      LogRefusal(ErrnoStatus(errno, "accept4"));
      return WatchListening(false);
    }
    MakeRoom();
    const uint64_t id = next_id_++;
    const int fd = client.get();
    const auto handshake = handshakes_.try_emplace(id, std::move(client), options_, quota_).first;
    if (absl::Status watched = Watch(epoll_.get(), fd, id); !watched.ok()) {
      LogRefusal(watched);
      Drop(handshake);
    }
  }
}

// Those whom the server will refuse anyway go first, and within each kind the oldest.
void AcceptLoop::MakeRoom() {
  if (handshakes_.size() < kMaxHandshakes) return;
  auto victim = std::find_if(handshakes_.begin(), handshakes_.end(),
                             [](const auto& each) { return !each.second.trusted(); });
  if (victim == handshakes_.end()) victim = handshakes_.begin();
  LogRefusal(absl::ResourceExhaustedError("too many clients are in their handshake"));
  Drop(victim);
}

void AcceptLoop::Advance(uint64_t id) {
  const auto found = handshakes_.find(id);
  if (found == handshakes_.end()) return;  // Dropped since the event.
  absl::StatusOr<AcceptHandshake::Progress> progress = found->second.Advance();
  // A client that hangs up before it is done says nothing worth a line.
  if (!progress.ok() && !absl::IsUnavailable(progress.status())) LogRefusal(progress.status());
  if (progress.ok() && *progress == AcceptHandshake::Progress::kMore) return;
  if (progress.ok()) Finish(found->second);
  Drop(found);
}

void AcceptLoop::Finish(AcceptHandshake& handshake) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, handshake.socket(), nullptr);
  Established established = handshake.Take();
  if (options_.prefault) established.segment->Prefault();
  absl::StatusOr<std::unique_ptr<ShmConnection>> connection =
      ShmConnection::Create(std::move(established), Side::kAccepting, options_.spin);
  if (!connection.ok()) return LogRefusal(connection.status());
  on_connection_(*std::move(connection));
}

void AcceptLoop::Drop(Handshakes::iterator handshake) {
  // Explicitly: where a forked child has the socket too, closing it takes it out of nothing.
  if (const int fd = handshake->second.socket(); fd >= 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  }
  CloseSocket(handshake->second.TakeSocket());
  handshakes_.erase(handshake);
}

void AcceptLoop::DropLate() {
  while (!handshakes_.empty() && handshakes_.begin()->second.deadline().passed()) {
    LogRefusal(absl::DeadlineExceededError("a client did not finish its handshake in time"));
    Drop(handshakes_.begin());
  }
}

// One line a second: a client cannot fill the log.
void AcceptLoop::LogRefusal(const absl::Status& why) {
  const int64_t now = MonotonicNanos();
  if (now - refusal_logged_at_ < kRefusalNanos) {
    ++refusals_unlogged_;
    return;
  }
  std::string text = absl::StrCat("refused a client of ", listening_->address().ToString(), ": ",
                                  std::string(why.message()));
  if (refusals_unlogged_ > 0) absl::StrAppend(&text, " (and ", refusals_unlogged_, " more before)");
  Log(LogSeverity::kWarning, text);
  refusal_logged_at_ = now;
  refusals_unlogged_ = 0;
}

}  // namespace locket::transport::internal
