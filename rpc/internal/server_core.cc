#include "locket/rpc/internal/server_core.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/transport/log.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;

namespace {
// How long Shutdown() waits for room to tell a client that does not read.
constexpr std::chrono::milliseconds kLastWords(100);
}  // namespace

ServerCore::ServerCore(ServiceMethods methods, const ServerLimits& limits,
                       std::unique_ptr<transport::WaitSet> wait_set)
    : methods_(std::move(methods)), limits_(limits), wait_set_(std::move(wait_set)) {}

absl::StatusOr<std::unique_ptr<ServerCore>> ServerCore::Create(ServiceMethods methods,
                                                               const ServerLimits& limits) {
  absl::StatusOr<std::unique_ptr<transport::WaitSet>> wait_set = transport::WaitSet::Create();
  if (!wait_set.ok()) return wait_set.status();
  std::unique_ptr<ServerCore> core(
      new ServerCore(std::move(methods), limits, *std::move(wait_set)));
  absl::StatusOr<std::unique_ptr<ServerThreads>> threads = ServerThreads::Start(*core);
  if (!threads.ok()) return threads.status();
  core->threads_ = *std::move(threads);
  return core;
}

ServerCore::~ServerCore() { Shutdown(Deadline::Infinite()); }

absl::StatusOr<int> ServerCore::Listen(const std::string& target) {
  transport::ListenOptions options;
  options.negotiate = [](const std::string& client_block) -> absl::StatusOr<std::string> {
    const absl::StatusOr<Agreement> agreement = AgreeAsServer(Handshake(), client_block);
    if (!agreement.ok()) return agreement.status();
    return EncodeAnswer(Handshake(), *agreement);
  };
  absl::StatusOr<std::unique_ptr<transport::Listener>> listener = transport::Listener::Listen(
      target, std::move(options),
      [this](std::unique_ptr<transport::Connection> connection) { Adopt(std::move(connection)); });
  if (!listener.ok()) return listener.status();
  listeners_.push_back(*std::move(listener));
  return listeners_.back()->port();
}

void ServerCore::Adopt(std::unique_ptr<transport::Connection> connection) {
  const absl::StatusOr<Agreement> agreement = AgreeAsServer(Handshake(), connection->peer_block());
  if (!agreement.ok()) return connection->Close(agreement.status());
  transport::Connection* transport = connection.get();
  const Shared shared = std::make_shared<ServerConnection>(*this, std::move(connection), *agreement,
                                                           methods_, limits_);
  {
    MutexLock lock(mutex_);
    if (phase_ != Phase::kServing) return;
    // Before Add(): the reading thread may find its end at once.
    connections_.emplace(shared.get(), shared);
  }
  const absl::Status status = wait_set_->Add(transport, shared.get());
  if (status.ok()) return;
  Log(LogSeverity::kWarning, absl::StrCat("client refused: ", std::string(status.message())));
  transport->Close(status);
  ConnectionIsOver(shared.get());
}

Readable::Work* ServerCore::Read() {
  void* tag = wait_set_->Wait(Deadline::Infinite());
  if (tag == nullptr) return nullptr;
  ServerConnection* connection = static_cast<ServerConnection*>(tag);
  bool ended = false;
  Work* work = connection->Read(&ended);
  if (ended) {
    // Out of the set before End(): then the last handler may destroy it at any time.
    wait_set_->Remove(&connection->transport());
    if (connection->End()) ConnectionIsOver(connection);
  }
  return work;
}

void ServerCore::CallReturned() {
  MutexLock lock(mutex_);
  changed_.NotifyAll();
}

void ServerCore::ConnectionIsOver(ServerConnection* connection) {
  Shared last;  // Destroyed after the lock is free.
  MutexLock lock(mutex_);
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  last = std::move(found->second);
  connections_.erase(found);
  changed_.NotifyAll();
}

bool ServerCore::AnyRunning() {
  for (const auto& [connection, shared] : connections_) {
    if (connection->running() > 0) return true;
  }
  return false;
}

// False if the deadline passed before all calls had returned. A call that is not counted here began
// after draining_ was set, and so was refused: both happen under its connection's lock.
bool ServerCore::AwaitCalls(Deadline deadline) {
  MutexLock lock(mutex_);
  while (AnyRunning()) {
    if (!changed_.WaitUntil(mutex_, deadline)) return !AnyRunning();
  }
  return true;
}

std::vector<ServerCore::Shared> ServerCore::Connections() {
  std::vector<Shared> all;
  MutexLock lock(mutex_);
  for (const auto& [connection, shared] : connections_) all.push_back(shared);
  return all;
}

void ServerCore::Shutdown(Deadline deadline) {
  {
    MutexLock lock(mutex_);
    if (phase_ != Phase::kServing) {
      while (phase_ != Phase::kStopped) changed_.Wait(mutex_);
      return;
    }
    phase_ = Phase::kStopping;
  }
  listeners_.clear();                                // Nobody new, from here on.
  draining_.store(true, std::memory_order_release);  // For draining().
  for (const Shared& connection : Connections()) connection->SendGoAway();

  if (!AwaitCalls(deadline)) {
    const Deadline last_words = Deadline::After(kLastWords);
    for (const Shared& connection : Connections()) {
      connection->CancelCalls(last_words);
      connection->Close("the server was shut down while calls ran");
    }
  }
  // Before Stop(), which waits for calls that are being refused just now, and those for room in the
  // ring of a client that may not read. What was sent is delivered.
  for (const Shared& connection : Connections()) connection->Close("the server was shut down");
  // All handlers have returned after this. (There are no threads if they could not be started.)
  if (threads_ != nullptr) threads_->Stop();

  // Nobody else reads now.
  for (const Shared& connection : Connections()) {
    wait_set_->Remove(&connection->transport());
    ConnectionIsOver(connection.get());
  }
  MutexLock lock(mutex_);
  phase_ = Phase::kStopped;
  changed_.NotifyAll();
}

void ServerCore::Wait() {
  MutexLock lock(mutex_);
  while (phase_ != Phase::kStopped) changed_.Wait(mutex_);
}

}  // namespace locket::internal
