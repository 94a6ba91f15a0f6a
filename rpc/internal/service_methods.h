// The methods that a server knows, by name.
#ifndef LOCKET_RPC_INTERNAL_SERVICE_METHODS_H_
#define LOCKET_RPC_INTERNAL_SERVICE_METHODS_H_

#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "locket/rpc/service.h"

namespace locket::internal {

// Filled before the server starts, read by all its threads then. Borrows the services' handlers.
class ServiceMethods {
 public:
  // ALREADY_EXISTS if a method of that name is there.
  absl::Status AddService(Service& service);

  bool empty() const { return handlers_.empty(); }

  // Null if there is none.
  UnaryHandler* Find(const std::string& path) const;

  // What AddUnaryMethod() does.
  static void AddTo(Service& service, const char* path, std::unique_ptr<UnaryHandler> handler);

 private:
  std::unordered_map<std::string, UnaryHandler*> handlers_;
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERVICE_METHODS_H_
