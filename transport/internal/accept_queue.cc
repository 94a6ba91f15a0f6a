#include "locket/transport/internal/accept_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/address.h"
#include "locket/transport/internal/stream_setup.h"

namespace locket::transport::internal {
namespace {

absl::Status Closed() { return absl::CancelledError("this side has closed the listener"); }

}  // namespace

absl::Status AcceptQueue::Listen(const std::string& address) {
  absl::StatusOr<ListenOptions> listen = StreamListenOptions(options_);
  if (!listen.ok()) return listen.status();
  listen->negotiate = [this](const std::string& block) { return Negotiate(block); };
  absl::StatusOr<std::string> target = StreamTarget(address, options_);
  if (!target.ok()) return target.status();
  absl::StatusOr<std::unique_ptr<Listener>> listener = Listener::Listen(
      *target, *std::move(listen),
      [this](std::unique_ptr<Connection> connection) { Add(std::move(connection)); });
  if (!listener.ok()) return listener.status();

  absl::StatusOr<Address> parsed = ParseTarget(*target);
  const bool is_port = parsed.ok() && parsed->kind == Address::Kind::kPort;
  port_ = is_port ? (*listener)->port() : 0;
  address_ = is_port ? absl::StrCat("localhost:", port_) : address;
  MutexLock lock(mutex_);
  listener_ = *std::move(listener);
  return absl::OkStatus();
}

absl::StatusOr<std::string> AcceptQueue::Negotiate(const std::string& client_block) {
  if (absl::Status stream = CheckStreamBlock(client_block, "client"); !stream.ok()) return stream;
  MutexLock lock(mutex_);
  // Those in their handshake are not counted: they may never come.
  if (clients_.size() < options_.backlog) return std::string(kStreamBlock);
  return absl::ResourceExhaustedError(absl::StrCat("the server has ", clients_.size(),
                                                   " clients that it has not accepted yet, and ",
                                                   options_.backlog, " at most may wait"));
}

void AcceptQueue::Add(std::unique_ptr<Connection> connection) {
  std::shared_ptr<StreamCore> client = MakeStreamCore(std::move(connection), options_);
  MutexLock lock(mutex_);
  if (closed_) return;  // And `client` closes.
  clients_.push_back(std::move(client));
  changed_.NotifyOne();
}

absl::StatusOr<std::shared_ptr<StreamCore>> AcceptQueue::Take(const Deadline* until) {
  MutexLock lock(mutex_);
  while (clients_.empty() && !closed_) {
    if (until == nullptr) return nullptr;
    if (until->passed()) {
      return absl::DeadlineExceededError(absl::StrCat(address_, ": no client came in time"));
    }
    changed_.WaitUntil(mutex_, *until);
  }
  if (closed_) return Closed();
  std::shared_ptr<StreamCore> client = std::move(clients_.front());
  clients_.pop_front();
  return client;
}

void AcceptQueue::Close() {
  // Both end without the lock, which the listener's thread may want before it ends.
  std::unique_ptr<Listener> listener;
  std::deque<std::shared_ptr<StreamCore>> clients;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    listener = std::move(listener_);
    clients = std::move(clients_);
    clients_.clear();
    changed_.NotifyAll();
  }
  listener.reset();
  for (const std::shared_ptr<StreamCore>& client : clients) client->Close();
}

}  // namespace locket::transport::internal
