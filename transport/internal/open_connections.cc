#include "locket/transport/internal/open_connections.h"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <unordered_set>

#include "locket/transport/mutex.h"

namespace locket::transport::internal {
namespace {

struct Registry {
  const pid_t owner = getpid();
  Mutex mutex;
  std::unordered_set<Connection*> connections ABSL_GUARDED_BY(mutex);
};

// Leaked on purpose: threads may use it until the process is gone. A forked child makes one of its
// own, since the parent's mutex may have been held at the fork. Any thread writes.
std::atomic<Registry*> current{nullptr};

// This process's own, or null.
Registry* Own() {
  Registry* const registry = current.load(std::memory_order_acquire);
  return registry != nullptr && registry->owner == getpid() ? registry : nullptr;
}

void SayFarewells() {
  Registry* const registry = Own();
  if (registry == nullptr) return;
  MutexLock lock(registry->mutex);
  for (Connection* connection : registry->connections) connection->SayFarewell();
}

Registry& GetOrCreate() {
  if (Registry* const own = Own()) return *own;
  Registry* before = current.load(std::memory_order_acquire);
  auto* const created = new Registry;
  // Release, so that others see the registry's fields; acquire to see those of one who was faster.
  while (before == nullptr || before->owner != created->owner) {
    if (!current.compare_exchange_weak(before, created, std::memory_order_acq_rel)) continue;
    // A forked child has inherited its parent's handler.
    if (before == nullptr) std::atexit(SayFarewells);
    return *created;
  }
  delete created;
  return *before;
}

}  // namespace

void OpenConnections::Add(Connection* connection) {
  Registry& registry = GetOrCreate();
  MutexLock lock(registry.mutex);
  registry.connections.insert(connection);
}

void OpenConnections::Remove(Connection* connection) {
  Registry* const registry = Own();
  if (registry == nullptr) return;
  MutexLock lock(registry->mutex);
  registry->connections.erase(connection);
}

}  // namespace locket::transport::internal
