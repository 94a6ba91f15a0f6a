#include "locket/transport/internal/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "absl/strings/str_format.h"
#include "locket/transport/internal/errno_status.h"
#include "locket/transport/internal/kernel_features.h"

namespace locket::transport::internal {
namespace {

// At most `size` bytes, without waiting.
ssize_t ReadNow(int fd, void* bytes, size_t size) {
  struct iovec part = {bytes, size};
  return preadv2(fd, &part, 1, -1, RWF_NOWAIT);
}

// Found out by a bell of our own: on one of the peer's the answer would be the peer's.
bool ReadNowWorks() {
  static const bool works = [] {
    const UniqueFd bell(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    uint64_t count;
    return ReadNow(bell.get(), &count, sizeof(count)) == sizeof(count);
  }();
  return works && UsedKernelFeatures().nowait_read;
}

}  // namespace

absl::StatusOr<UniqueFd> CreateDoorbell() {
  UniqueFd doorbell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE));
  const uint64_t greatest = ~uint64_t{1};
  if (!doorbell.valid() || write(doorbell.get(), &greatest, sizeof(greatest)) != sizeof(greatest)) {
    return ErrnoStatus(errno, "eventfd");
  }
  return doorbell;
}

absl::Status CheckDoorbell(int doorbell) {
  // Before anything is read of it: a read of a regular file waits for whoever reads it at the time,
  // whatever the flags. DONT_SYNC: nor is a file system's daemon asked.
  struct statx stat;
  if (statx(doorbell, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stat) != 0) {
    return ErrnoStatus(errno, "statx of the doorbell");
  }
  // Descriptors without an inode of their own have no type.
  if ((stat.stx_mode & S_IFMT) != 0) {
    return absl::InternalError(absl::StrFormat(
        "the server's doorbell is no eventfd, but a file of mode %#o", stat.stx_mode));
  }
  if (!ReadNowWorks()) return absl::OkStatus();
  // An eventfd gives no less than 8 bytes.
  uint32_t half;
  if (ReadNow(doorbell, &half, sizeof(half)) < 0 && errno == EINVAL) return absl::OkStatus();
  return absl::InternalError("the server's doorbell is no eventfd");
}

void RingDoorbell(int doorbell) {
  uint64_t one;
  [[maybe_unused]] const ssize_t taken =
      ReadNowWorks() ? ReadNow(doorbell, &one, sizeof(one)) : read(doorbell, &one, sizeof(one));
}

}  // namespace locket::transport::internal
