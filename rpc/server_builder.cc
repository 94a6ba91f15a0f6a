#include "locket/rpc/server_builder.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/server_core.h"
#include "locket/transport/log.h"

namespace locket {
namespace {

int64_t Limit(int value) { return value < 0 ? INT64_MAX : value; }

// gRPC: 1 for sockets that have no port.
int PortOf(const std::string& address) {
  for (const char* prefix : {"unix:", "unix-abstract:", "locket:"}) {
    if (absl::StartsWith(address, prefix)) return 1;
  }
  int port = 0;
  return absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port) ? port : 1;
}

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
  for (const Port& port : ports_) {
    const absl::Status status = (*core)->Listen(port.address);
    if (!status.ok()) return Refuse(status);
  }
  for (const Port& port : ports_) {
    if (port.selected_port != nullptr) *port.selected_port = PortOf(port.address);
  }
  return std::unique_ptr<Server>(new Server(*std::move(core)));
}

}  // namespace locket
