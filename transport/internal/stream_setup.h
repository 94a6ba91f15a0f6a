// How a stream socket's options and address become those of a connection.
#ifndef LOCKET_TRANSPORT_INTERNAL_STREAM_SETUP_H_
#define LOCKET_TRANSPORT_INTERNAL_STREAM_SETUP_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/stream_core.h"
#include "locket/transport/socket_options.h"

namespace locket::transport::internal {

// The block by which both sides say that they speak a stream (FORMAT.md, Ends).
inline constexpr char kStreamBlock[] = "locket-stream 1";

// INVALID_ARGUMENT for sizes that cannot be. `negotiate` refuses who does not speak a stream.
absl::StatusOr<ListenOptions> StreamListenOptions(const SocketOptions& options);
absl::StatusOr<ConnectOptions> StreamConnectOptions(const SocketOptions& options);

// What endpoint.h takes instead of `address`: that of a "locket:name" lies in the options'
// directory, if one is given.
absl::StatusOr<std::string> StreamTarget(const std::string& address, const SocketOptions& options);

// UNAVAILABLE if the block is none of a stream; `who` sent it: "client".
absl::Status CheckStreamBlock(const std::string& block, const char* who);

std::shared_ptr<StreamCore> MakeStreamCore(std::unique_ptr<Connection> connection,
                                           const SocketOptions& options);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_STREAM_SETUP_H_
