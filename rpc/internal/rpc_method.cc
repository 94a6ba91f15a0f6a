#include "locket/rpc/internal/rpc_method.h"

#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "locket/transport/mutex.h"

namespace locket::internal {
namespace {

struct Table {
  transport::Mutex mutex;
  // Node-based: the keys stay where they are.
  std::unordered_map<std::string, uint32_t> indices ABSL_GUARDED_BY(mutex);
};

}  // namespace

RpcMethod::RpcMethod(const char* path) {
  static Table& table = *new Table;  // Leaked: stubs may be made while the process exits.
  transport::MutexLock lock(table.mutex);
  const auto [entry, inserted] =
      table.indices.try_emplace(path, static_cast<uint32_t>(table.indices.size()));
  path_ = &entry->first;
  index_ = entry->second;
}

}  // namespace locket::internal
