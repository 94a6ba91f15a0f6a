// How many connections a listener has, and how much memory.
#ifndef LOCKET_TRANSPORT_INTERNAL_QUOTA_H_
#define LOCKET_TRANSPORT_INTERNAL_QUOTA_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "locket/transport/mutex.h"

namespace locket::transport::internal {

// What the connections of one listener may have together. Shared by the listener and by each
// connection, through its ticket, as long as it lives. Any thread.
class Quota : public std::enable_shared_from_this<Quota> {
 public:
  // One connection's share, given back with the object.
  class Ticket {
   public:
    Ticket() = default;
    Ticket(Ticket&& other) noexcept = default;
    Ticket& operator=(Ticket&& other) noexcept {
      std::swap(quota_, other.quota_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Ticket() {
      if (quota_ != nullptr) quota_->GiveBack(bytes_);
    }

   private:
    friend class Quota;
    Ticket(std::shared_ptr<Quota> quota, uint64_t bytes)
        : quota_(std::move(quota)), bytes_(bytes) {}

    std::shared_ptr<Quota> quota_;
    uint64_t bytes_ = 0;
  };

  Quota(size_t max_connections, uint64_t max_bytes)
      : max_connections_(max_connections), max_bytes_(max_bytes) {}

  // A share for a connection of so many bytes. RESOURCE_EXHAUSTED, with both numbers.
  absl::StatusOr<Ticket> Take(uint64_t bytes);

 private:
  void GiveBack(uint64_t bytes);

  const size_t max_connections_;
  const uint64_t max_bytes_;
  Mutex mutex_;
  size_t connections_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // Keeps bytes_ <= max_bytes_.
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_QUOTA_H_
