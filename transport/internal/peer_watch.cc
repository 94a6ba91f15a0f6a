#include "locket/transport/internal/peer_watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

#include "locket/transport/internal/errno_status.h"
#include "locket/transport/thread.h"

namespace locket::transport::internal {
namespace {

// What the control socket has to say: OK while it is open and silent.
absl::Status StateOf(int socket) {
  char byte;
  ssize_t received;
  do {
    received = recv(socket, &byte, sizeof(byte), MSG_DONTWAIT | MSG_PEEK);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return absl::OkStatus();
  // An empty packet reads as the end of file does, but does not hang up.
  struct pollfd hung_up = {socket, POLLRDHUP, 0};
  if (received <= 0 && poll(&hung_up, 1, 0) == 1) return absl::UnavailableError("Socket closed");
  return absl::InternalError(
      "the peer sent a message on the control socket, which must stay silent");
}

// Readable once the last thread of the process has ended: all its stores to shared memory are done.
bool IsDead(int pidfd) {
  struct pollfd over = {pidfd, POLLIN, 0};
  return pidfd >= 0 && poll(&over, 1, 0) == 1;
}

}  // namespace

absl::StatusOr<PeerWatch*> PeerWatch::Get() {
  static Mutex* const mutex = new Mutex;
  static PeerWatch* watch = nullptr;
  MutexLock lock(*mutex);
  if (watch != nullptr && watch->owner_ == getpid()) return watch;
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ErrnoStatus(errno, "epoll_create1");
  std::unique_ptr<PeerWatch> created(new PeerWatch(std::move(epoll)));
  absl::StatusOr<std::thread> thread =
      StartThread("locket-watch", [watch = created.get()] { watch->Run(); });
  if (!thread.ok()) return thread.status();
  thread->detach();
  watch = created.release();
  return watch;
}

absl::StatusOr<uint64_t> PeerWatch::Add(int socket, int pidfd, PeerWatched* watched) {
  MutexLock lock(mutex_);
  const uint64_t id = next_id_++;
  // Edge-triggered: a peer that sends bytes cannot keep the thread awake.
  struct epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl(EPOLL_CTL_ADD) of a control socket");
  }
  const auto entry = entries_.emplace(id, Entry{socket, pidfd, watched}).first;
  event.events = EPOLLIN | EPOLLET;
  if (pidfd >= 0 && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd, &event) != 0) {
    absl::Status failed = ErrnoStatus(errno, "epoll_ctl(EPOLL_CTL_ADD) of the peer's pidfd");
    Erase(entry);
    return failed;
  }
  return id;
}

void PeerWatch::Remove(uint64_t id) {
  if (owner_ != getpid()) return;
  MutexLock lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry != entries_.end()) Erase(entry);
}

void PeerWatch::Erase(Entries::iterator entry) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->second.socket, nullptr);
  if (entry->second.pidfd >= 0) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, entry->second.pidfd, nullptr);
  }
  entries_.erase(entry);
}

void PeerWatch::Run() {
  for (;;) {
    struct epoll_event events[32];
    const int count = epoll_wait(epoll_.get(), events, 32, -1);
    for (int i = 0; i < count; ++i) Check(events[i].data.u64);
  }
}

void PeerWatch::Check(uint64_t id) {
  MutexLock lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;  // Removed since the event.
  // The socket first: what it says of a violation is more than that the peer is dead.
  absl::Status state = StateOf(entry->second.socket);
  if (state.ok() && IsDead(entry->second.pidfd)) state = absl::UnavailableError("Socket closed");
  if (state.ok()) return;
  PeerWatched* const watched = entry->second.watched;
  Erase(entry);
  watched->OnPeerGone(std::move(state));
}

}  // namespace locket::transport::internal
