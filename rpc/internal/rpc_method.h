// A method of a service, as a client names it.
#ifndef LOCKET_RPC_INTERNAL_RPC_METHOD_H_
#define LOCKET_RPC_INTERNAL_RPC_METHOD_H_

#include <cstdint>
#include <string>

namespace locket {
namespace internal {

// Interns "/package.Service/Method" once: equal paths have equal, small, dense indices in this
// process, so that calls find what belongs to a method in an array. Cheap to copy. Thread-safe.
class RpcMethod {
 public:
  explicit RpcMethod(const char* path);

  const std::string& path() const { return *path_; }  // Lives for ever.
  uint32_t index() const { return index_; }

 private:
  const std::string* path_;
  uint32_t index_;
};

}  // namespace internal
}  // namespace locket

#endif  // LOCKET_RPC_INTERNAL_RPC_METHOD_H_
