// The bell by which a client wakes its server's reader out of epoll.
//
// Whatever descriptor both sides have, the other side can change: fill it, empty it, clear its
// O_NONBLOCK. So neither side may ever make a call on it that could wait, and the obvious bell, an
// eventfd that the client writes, is none: a hostile server fills it, and the write waits; write()
// has no flag against that, and pwritev2(RWF_NOWAIT) refuses an eventfd. preadv2(RWF_NOWAIT) does
// not. The bell is therefore an eventfd that counts down: it is made with the greatest value, the
// client rings by taking one, and epoll reports each taking as room to write (EPOLLOUT), edge-
// triggered, to a server that never reads or writes it. Measured beside the write: 120 ns more, of
// a parked round trip of 10 us; a socketpair with MSG_DONTWAIT costs 2 us more.
#ifndef LOCKET_TRANSPORT_INTERNAL_DOORBELL_H_
#define LOCKET_TRANSPORT_INTERNAL_DOORBELL_H_

#include <sys/epoll.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// What epoll is to report of a doorbell.
inline constexpr uint32_t kDoorbellEvents = EPOLLOUT | EPOLLET;

// RESOURCE_EXHAUSTED.
absl::StatusOr<UniqueFd> CreateDoorbell();

// Whether the descriptor that a server sent is an eventfd. INTERNAL.
absl::Status CheckDoorbell(int doorbell);

// Rings. Never waits, whatever the descriptor is. (Before Linux 5.8, which has no reading without
// waiting, a hostile server can make it wait.)
void RingDoorbell(int doorbell);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_DOORBELL_H_
