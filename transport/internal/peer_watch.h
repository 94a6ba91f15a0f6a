// How a dead peer is noticed: one thread of the process sleeps on all control sockets.
#ifndef LOCKET_TRANSPORT_INTERNAL_PEER_WATCH_H_
#define LOCKET_TRANSPORT_INTERNAL_PEER_WATCH_H_

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
  // for the end of file, INTERNAL for bytes on the socket, which nobody expects.
  virtual void OnPeerGone(absl::Status reason) = 0;

 protected:
  ~PeerWatched() = default;
};

// Watches control sockets for their end of file. Every state of the peer's process ends there:
// exit, SIGKILL, a closed connection; a stopped process is not a dead one. The process has one,
// which is leaked on purpose: its thread (locket-watch) sleeps in epoll for as long as the process
// lives and never delays its exit.
//
// Thread safety: any thread.
class PeerWatch {
 public:
  // The process's own. RESOURCE_EXHAUSTED where the thread or its descriptor cannot be had; a later
  // call tries again.
  static absl::StatusOr<PeerWatch*> Get();

  // Watches `socket`, which must stay open until Remove().
  absl::StatusOr<uint64_t> Add(int socket, PeerWatched* watched);

  // Watches no longer. When it returns, OnPeerGone() of it neither runs nor will run.
  void Remove(uint64_t id);

 private:
  explicit PeerWatch(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  struct Entry {
    int socket;
    PeerWatched* watched;
  };

  [[noreturn]] void Run();
  void Check(uint64_t id);

  const UniqueFd epoll_;
  Mutex mutex_;  // Held during OnPeerGone(), so that Remove() waits for it.
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 1;
  std::unordered_map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_PEER_WATCH_H_
