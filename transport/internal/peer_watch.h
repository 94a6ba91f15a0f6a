// How a dead peer is noticed: one thread of the process sleeps on all control sockets and pidfds.
#ifndef LOCKET_TRANSPORT_INTERNAL_PEER_WATCH_H_
#define LOCKET_TRANSPORT_INTERNAL_PEER_WATCH_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/internal/unique_fd.h"
#include "locket/transport/mutex.h"

namespace locket::transport::internal {

// Who is told that a peer is gone.
class PeerWatched {
 public:
  // Called once, on the watching thread; must not block or call PeerWatch. `reason` is UNAVAILABLE
  // for the peer's death or end of file, INTERNAL for bytes on the socket, which nobody expects.
  virtual void OnPeerGone(absl::Status reason) = 0;

 protected:
  ~PeerWatched() = default;
};

// Watches control sockets for their end of file, and pidfds of the peers for their death. Neither
// is enough: the end of file is all that tells of a close, and comes a little earlier at exit and
// SIGKILL, but only once no process has the peer's socket any more, and a forked child of the peer
// may have it for ever. A zombie is dead, a stopped process is not. The process has one watch,
// which is leaked on purpose: its thread (locket-watch) sleeps in epoll for as long as the process
// lives and never delays its exit. A forked child makes a watch of its own.
//
// Thread safety: any thread.
class PeerWatch {
 public:
  // The process's own. RESOURCE_EXHAUSTED where the thread or its descriptor cannot be had; a later
  // call tries again.
  static absl::StatusOr<PeerWatch*> Get();

  // Watches `socket`, and `pidfd` if it is not -1; both must stay open until Remove().
  absl::StatusOr<uint64_t> Add(int socket, int pidfd, PeerWatched* watched);

  // Watches no longer. When it returns, OnPeerGone() of it neither runs nor will run. In a forked
  // child it does nothing: the epoll is the parent's.
  void Remove(uint64_t id);

 private:
  explicit PeerWatch(UniqueFd epoll) : owner_(getpid()), epoll_(std::move(epoll)) {}

  struct Entry {
    int socket;
    int pidfd;
    PeerWatched* watched;
  };
  using Entries = std::unordered_map<uint64_t, Entry>;

  [[noreturn]] void Run();
  void Check(uint64_t id);
  void Erase(Entries::iterator entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const pid_t owner_;
  const UniqueFd epoll_;
  Mutex mutex_;  // Held during OnPeerGone(), so that Remove() waits for it.
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_PEER_WATCH_H_
