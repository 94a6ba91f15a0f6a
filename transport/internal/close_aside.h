// Closing what a peer has sent, or may have sent.
//
// close() can wait: that of a TCP socket with SO_LINGER for its other end, that of a FUSE file for
// its daemon. Whoever sends such a descriptor would hold the thread that closes the last copy, also
// where nobody has received it: the kernel closes what lies in a socket's queue with the socket. So
// descriptors of peers are closed on threads that nobody waits for (locket-close, which end when
// there is nothing left to close).
#ifndef LOCKET_TRANSPORT_INTERNAL_CLOSE_ASIDE_H_
#define LOCKET_TRANSPORT_INTERNAL_CLOSE_ASIDE_H_

#include <cstddef>

#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// Any thread.

// Closes it on another thread.
void CloseAside(UniqueFd fd);

// Ends a connected sequenced-packet socket and closes it: here, or on another thread if a message
// lies in it that nobody has read. Not in a forked child, whose parent it would end too.
void CloseSocket(UniqueFd socket);

// How many wait to be closed, or are just being closed, on other threads.
size_t ClosingAside();

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_CLOSE_ASIDE_H_
