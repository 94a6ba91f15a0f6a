#include "locket/transport/wait_set.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <utility>

#include "locket/transport/internal/epoll_wait_set.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport {

absl::StatusOr<std::unique_ptr<WaitSet>> WaitSet::Create() {
  using internal::ErrnoStatus;
  internal::UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return ErrnoStatus(errno, "epoll_create1");
  internal::UniqueFd waker(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!waker.valid()) return ErrnoStatus(errno, "eventfd");
  struct epoll_event event = {};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, waker.get(), &event) != 0) {
    return ErrnoStatus(errno, "epoll_ctl(EPOLL_CTL_ADD) of the waker");
  }
  return std::make_unique<internal::EpollWaitSet>(std::move(epoll), std::move(waker));
}

}  // namespace locket::transport
