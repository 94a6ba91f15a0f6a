#include "locket/transport/internal/quota.h"

#include "absl/strings/str_cat.h"

namespace locket::transport::internal {

absl::StatusOr<Quota::Ticket> Quota::Take(uint64_t bytes) {
  MutexLock lock(mutex_);
  if (connections_ >= max_connections_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(connections_, " connections of at most ", max_connections_));
  }
  if (bytes > max_bytes_ - bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a segment of ", bytes, " bytes beside ", bytes_, " of at most ", max_bytes_));
  }
  ++connections_;
  bytes_ += bytes;
  return Ticket(shared_from_this(), bytes);
}

void Quota::GiveBack(uint64_t bytes) {
  MutexLock lock(mutex_);
  --connections_;
  bytes_ -= bytes;
}

}  // namespace locket::transport::internal
