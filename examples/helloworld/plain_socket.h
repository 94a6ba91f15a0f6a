#ifndef LOCKET_EXAMPLES_HELLOWORLD_PLAIN_SOCKET_H_
#define LOCKET_EXAMPLES_HELLOWORLD_PLAIN_SOCKET_H_

#include <cstddef>

#include "absl/status/statusor.h"

namespace helloworld {

// The median round trip, in microseconds, between this process and a child that it forks, over a
// plain Unix stream socket with blocking reads: what the calls of the example are compared with. It
// moves request_size bytes there and reply_size bytes back, without serialisation or dispatch.
absl::StatusOr<double> PlainSocketRoundTripMicros(size_t request_size, size_t reply_size,
                                                  int calls);

}  // namespace helloworld

#endif  // LOCKET_EXAMPLES_HELLOWORLD_PLAIN_SOCKET_H_
