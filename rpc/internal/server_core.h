// What stands behind a Server: listeners, connections, threads, and their end.
#ifndef LOCKET_RPC_INTERNAL_SERVER_CORE_H_
#define LOCKET_RPC_INTERNAL_SERVER_CORE_H_

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/rpc/internal/server_connection.h"
#include "locket/rpc/internal/server_threads.h"
#include "locket/rpc/internal/service_methods.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::internal {

// Thread safety: Create() and Listen() before anything else; Shutdown() and Wait() from any thread.
class ServerCore final : public Readable, public ServerConnection::Owner {
 public:
  // `methods` as of the services that outlive the server.
  static absl::StatusOr<std::unique_ptr<ServerCore>> Create(ServiceMethods methods,
                                                            const ServerLimits& limits);
  ~ServerCore();

  // Takes clients from `target` from now on. Returns its port, as AddListeningPort() reports it.
  absl::StatusOr<int> Listen(const std::string& target);
  // Takes a client whose connection is there already: an accepting end.
  void Adopt(std::unique_ptr<transport::Connection> connection);

  // New calls are refused at once; those that run may finish until the deadline, and are cancelled
  // then. Returns when all handlers have returned and nothing is left. A second one waits for the
  // first.
  void Shutdown(transport::Deadline deadline);

  // Returns when a Shutdown() has.
  void Wait();

 private:
  using Shared = std::shared_ptr<ServerConnection>;

  ServerCore(ServiceMethods methods, const ServerLimits& limits,
             std::unique_ptr<transport::WaitSet> wait_set);

  // Readable
  Work* Read() override;
  void Wake() override { wait_set_->Wake(); }
  bool parked() const override { return wait_set_->parked(); }

  // ServerConnection::Owner
  // acquire: pairs with the store in Shutdown().
  bool draining() const override { return draining_.load(std::memory_order_acquire); }
  void CallReturned() override;
  void ConnectionIsOver(ServerConnection* connection) override;

  bool AnyRunning() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AwaitCalls(transport::Deadline deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Shared> Connections() ABSL_LOCKS_EXCLUDED(mutex_);

  const ServiceMethods methods_;
  const ServerLimits limits_;
  const std::unique_ptr<transport::WaitSet> wait_set_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  std::unique_ptr<ServerThreads> threads_;
  std::atomic<bool> draining_{false};  // Set by Shutdown(), once.

  transport::Mutex mutex_;  // Before the connections' locks.
  std::unordered_map<ServerConnection*, Shared> connections_ ABSL_GUARDED_BY(mutex_);
  enum class Phase {
    kServing,
    kStopping,
    kStopped
  } phase_ ABSL_GUARDED_BY(mutex_) = Phase::kServing;
  transport::CondVar changed_;  // A call has returned, a connection is over, or phase_ has changed.
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERVER_CORE_H_
