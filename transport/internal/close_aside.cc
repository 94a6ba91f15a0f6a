#include "locket/transport/internal/close_aside.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <deque>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "locket/transport/mutex.h"
#include "locket/transport/thread.h"

namespace locket::transport::internal {
namespace {

// Closes that can wait for ever at once, before others wait for them.
constexpr size_t kMaxThreads = 16;

class Closer {
 public:
  // Leaked on purpose: its threads may run while the process exits. A forked child, which has none
  // of them, makes one of its own.
  static Closer& Get() {
    static Mutex* const mutex = new Mutex;
    static Closer* closer = nullptr;
    MutexLock lock(*mutex);
    if (closer == nullptr || closer->owner_ != getpid()) closer = new Closer;
    return *closer;
  }

  void Close(UniqueFd fd) {
    MutexLock lock(mutex_);
    waiting_.push_back(std::move(fd));
    // Each may wait for ever: none is left to a thread that closes another one, while there are
    // threads to have. Without any, they wait for the next one.
    if (threads_ == kMaxThreads) return;
    absl::StatusOr<std::thread> thread = StartThread("locket-close", [this] { Run(); });
    if (!thread.ok()) return;
    ++threads_;
    thread->detach();
  }

  size_t size() {
    MutexLock lock(mutex_);
    return waiting_.size() + closing_;
  }

 private:
  void Run() {
    mutex_.Lock();
    while (!waiting_.empty()) {
      UniqueFd next = std::move(waiting_.front());
      waiting_.pop_front();
      ++closing_;
      mutex_.Unlock();
      next.Reset();
      mutex_.Lock();
      --closing_;
    }
    --threads_;
    mutex_.Unlock();
  }

  const pid_t owner_ = getpid();
  Mutex mutex_;
  std::deque<UniqueFd> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t threads_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t closing_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Whether a message lies in the socket, which has been shut down. With SO_PASSCRED every message
// has control data, and no room for it here is reported: that tells an empty message from the end.
bool HasUnread(int socket) {
  const int on = 1;
  if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) return true;
  for (;;) {
    char byte;
    struct iovec part = {&byte, sizeof(byte)};
    struct msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    const ssize_t received = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);
    // An error of the socket comes once, before its messages.
    if (received < 0 && (errno == EINTR || errno == ECONNRESET)) continue;
    return received != 0 || (header.msg_flags & MSG_CTRUNC) != 0;
  }
}

}  // namespace

void CloseAside(UniqueFd fd) {
  if (fd.valid()) Closer::Get().Close(std::move(fd));
}

void CloseSocket(UniqueFd socket) {
  if (!socket.valid()) return;
  shutdown(socket.get(), SHUT_RDWR);  // Nothing comes any more.
  if (HasUnread(socket.get())) CloseAside(std::move(socket));
}

size_t ClosingAside() { return Closer::Get().size(); }

}  // namespace locket::transport::internal
