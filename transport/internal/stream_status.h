// Why a stream does not go on, in words that name the peer.
#ifndef LOCKET_TRANSPORT_INTERNAL_STREAM_STATUS_H_
#define LOCKET_TRANSPORT_INTERNAL_STREAM_STATUS_H_

#include "absl/status/status.h"
#include "locket/transport/connection.h"

namespace locket::transport::internal {

// Why the connection, which has ended, did so: UNAVAILABLE for a peer that died or closed (the text
// says which), else Connection::status().
absl::Status WhyEnded(const Connection& connection);

// Why nothing can be written to a connection that is write_closed(), not by this side's
// CloseWrite().
absl::Status WhyNotWritable(const Connection& connection);

absl::Status ClosedHere();

// `what`: "a read of the stream from".
absl::Status TooLate(const Connection& connection, const char* what);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_STREAM_STATUS_H_
