// Clients that have connected to a ListenerSocket and wait to be accepted.
#ifndef LOCKET_TRANSPORT_INTERNAL_ACCEPT_QUEUE_H_
#define LOCKET_TRANSPORT_INTERNAL_ACCEPT_QUEUE_H_

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/stream_core.h"
#include "locket/transport/mutex.h"
#include "locket/transport/socket_options.h"

namespace locket::transport::internal {

// Thread safety: any thread.
class AcceptQueue {
 public:
  explicit AcceptQueue(SocketOptions options) : options_(std::move(options)) {}

  // Called once, before everything else.
  absl::Status Listen(const std::string& address);

  const std::string& address() const { return address_; }
  int port() const { return port_; }

  // The oldest client; null where there is none and `until` is null: it says how long to wait.
  // DEADLINE_EXCEEDED; CANCELLED once closed.
  absl::StatusOr<std::shared_ptr<StreamCore>> Take(const Deadline* until);

  void Close();

 private:
  // The listener's thread calls these two.
  absl::StatusOr<std::string> Negotiate(const std::string& client_block);
  void Add(std::unique_ptr<Connection> connection);

  const SocketOptions options_;
  // Written by Listen(), when the listener's thread runs already: not for that thread.
  std::string address_;
  int port_ = 0;

  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<StreamCore>> clients_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Listener> listener_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_ACCEPT_QUEUE_H_
