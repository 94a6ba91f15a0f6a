// What a stream socket and the records that it handed out share.
#ifndef LOCKET_TRANSPORT_INTERNAL_STREAM_CORE_H_
#define LOCKET_TRANSPORT_INTERNAL_STREAM_CORE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "locket/transport/connection.h"
#include "locket/transport/internal/open_connections.h"
#include "locket/transport/internal/stream_reader.h"
#include "locket/transport/internal/stream_status.h"
#include "locket/transport/internal/stream_writer.h"

namespace locket::transport::internal {

// Owns the connection, and with it the mapping. Held by the socket and by each ReceivedRecord, so
// that a record in use outlives its socket.
class StreamCore {
 public:
  StreamCore(std::unique_ptr<Connection> owned, size_t max_record)
      : connection(std::move(owned)), writer(*connection, max_record), reader(*connection) {
    OpenConnections::Add(connection.get());
  }
  ~StreamCore() { OpenConnections::Remove(connection.get()); }
  StreamCore(const StreamCore&) = delete;
  StreamCore& operator=(const StreamCore&) = delete;

  // Any thread.
  void Close() {
    closed_here.store(true, std::memory_order_relaxed);  // relaxed: Close() publishes.
    connection->Close(ClosedHere());
  }

  const std::unique_ptr<Connection> connection;
  StreamWriter writer;  // The writing thread's.
  StreamReader reader;  // The reading thread's.
  // Whether Close() was called. Written by any thread.
  std::atomic<bool> closed_here{false};
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_STREAM_CORE_H_
