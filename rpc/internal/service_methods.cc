#include "locket/rpc/internal/service_methods.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace locket::internal {

absl::Status ServiceMethods::AddService(Service& service) {
  for (const Service::Method& method : service.methods_) {
    if (!handlers_.emplace(method.path, method.handler.get()).second) {
      return absl::AlreadyExistsError(
          absl::StrCat("two registered services have the method ", method.path));
    }
  }
  return absl::OkStatus();
}

UnaryHandler* ServiceMethods::Find(const std::string& path) const {
  const auto found = handlers_.find(path);
  return found == handlers_.end() ? nullptr : found->second;
}

void ServiceMethods::AddTo(Service& service, const char* path,
                           std::unique_ptr<UnaryHandler> handler) {
  service.methods_.push_back({path, std::move(handler)});
}

}  // namespace locket::internal
