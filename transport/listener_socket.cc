#include "locket/transport/listener_socket.h"

#include <utility>

#include "locket/transport/internal/accept_queue.h"

namespace locket::transport {

ListenerSocket::ListenerSocket(std::unique_ptr<internal::AcceptQueue> queue)
    : queue_(std::move(queue)) {}

ListenerSocket::~ListenerSocket() { Close(); }

absl::StatusOr<std::unique_ptr<ListenerSocket>> ListenerSocket::Listen(
    const std::string& address, const SocketOptions& options) {
  auto queue = std::make_unique<internal::AcceptQueue>(options);
  if (absl::Status listening = queue->Listen(address); !listening.ok()) return listening;
  return std::unique_ptr<ListenerSocket>(new ListenerSocket(std::move(queue)));
}

absl::StatusOr<std::unique_ptr<StreamSocket>> ListenerSocket::Accept(Deadline deadline) {
  return AcceptUntil(&deadline);
}

absl::StatusOr<std::unique_ptr<StreamSocket>> ListenerSocket::TryAccept() {
  return AcceptUntil(nullptr);
}

absl::StatusOr<std::unique_ptr<StreamSocket>> ListenerSocket::AcceptUntil(const Deadline* until) {
  absl::StatusOr<std::shared_ptr<internal::StreamCore>> client = queue_->Take(until);
  if (!client.ok()) return client.status();
  if (*client == nullptr) return nullptr;
  return std::unique_ptr<StreamSocket>(new StreamSocket(*std::move(client)));
}

void ListenerSocket::Close() { queue_->Close(); }

const std::string& ListenerSocket::address() const { return queue_->address(); }

int ListenerSocket::port() const { return queue_->port(); }

}  // namespace locket::transport
