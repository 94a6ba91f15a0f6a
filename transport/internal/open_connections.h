// What exit() does about connections that are still open.
#ifndef LOCKET_TRANSPORT_INTERNAL_OPEN_CONNECTIONS_H_
#define LOCKET_TRANSPORT_INTERNAL_OPEN_CONNECTIONS_H_

#include "locket/transport/connection.h"

namespace locket::transport::internal {

// The connections of this process that exit() ends by will: a handler that runs then says farewell
// on each, so that the peer reads to the end of the stream, and not to an error. The kernel closes
// them a moment later. Nothing else happens to them: threads that are blocked on one stay blocked
// until they are gone with the process, since what they would do next may use what exit() has
// already destroyed.
//
// Thread safety: any thread. In a forked child the parent's connections do not count.
class OpenConnections {
 public:
  // `connection` stays until Remove().
  static void Add(Connection* connection);
  static void Remove(Connection* connection);
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_OPEN_CONNECTIONS_H_
