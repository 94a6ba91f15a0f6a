#include "locket/rpc/server_builder.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/server_core.h"
#include "locket/transport/log.h"

namespace locket {
namespace {

int64_t Limit(int value) { return value < 0 ? INT64_MAX : value; }

std::unique_ptr<Server> Refuse(const absl::Status& reason) {
  Log(LogSeverity::kError, absl::StrCat("server not started: ", reason.ToString()));
  return nullptr;
}

}  // namespace

ServerBuilder::ServerBuilder() = default;
ServerBuilder::~ServerBuilder() = default;

ServerBuilder& ServerBuilder::AddListeningPort(const std::string& address,
                                               std::shared_ptr<ServerCredentials> credentials,
                                               int* selected_port) {
  ports_.push_back({address, std::move(credentials), selected_port});
  return *this;
}

ServerBuilder& ServerBuilder::RegisterService(Service* service) {
  services_.push_back(service);
  return *this;
}

ServerBuilder& ServerBuilder::RegisterService(const std::string& /*host*/, Service* service) {
  return RegisterService(service);
}

ServerBuilder& ServerBuilder::SetMaxReceiveMessageSize(int size) {
  max_receive_ = size;
  return *this;
}

ServerBuilder& ServerBuilder::SetMaxSendMessageSize(int size) {
  max_send_ = size;
  return *this;
}

std::unique_ptr<Server> ServerBuilder::BuildAndStart() {
  internal::ServiceMethods methods;
  for (Service* service : services_) {
    const absl::Status status = methods.AddService(*service);
    if (!status.ok()) return Refuse(status);
  }
  if (services_.empty()) return Refuse(absl::InvalidArgumentError("no service is registered"));
  for (const Port& port : ports_) {
    if (port.credentials == nullptr) {
      return Refuse(absl::InvalidArgumentError(absl::StrCat("no credentials for ", port.address)));
    }
  }

  internal::ServerLimits limits;
  limits.receive = Limit(max_receive_);
  limits.send = Limit(max_send_);
  absl::StatusOr<std::unique_ptr<internal::ServerCore>> core =
      internal::ServerCore::Create(std::move(methods), limits);
  if (!core.ok()) return Refuse(core.status());
  // gRPC leaves *selected_port alone where the server does not start.
  std::vector<int> selected;
  for (const Port& port : ports_) {
    const absl::StatusOr<int> listening = (*core)->Listen(port.address);
    if (!listening.ok()) return Refuse(listening.status());
    selected.push_back(*listening);
  }
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].selected_port != nullptr) *ports_[i].selected_port = selected[i];
  }
  return std::unique_ptr<Server>(new Server(*std::move(core)));
}

}  // namespace locket
