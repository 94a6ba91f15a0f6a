#include "locket/rpc/service.h"

#include <utility>

#include "locket/rpc/internal/service_methods.h"

namespace locket {

Service::Service() = default;
Service::~Service() = default;

namespace internal {

UnaryHandler::UnaryHandler() = default;
UnaryHandler::~UnaryHandler() = default;

UnaryMessages::UnaryMessages() = default;
UnaryMessages::~UnaryMessages() = default;

void AddUnaryHandler(Service* service, const char* path, std::unique_ptr<UnaryHandler> handler) {
  ServiceMethods::AddTo(*service, path, std::move(handler));
}

}  // namespace internal
}  // namespace locket
