#include "locket/rpc/service.h"

#include <utility>

#include "locket/rpc/internal/server_call.h"
#include "locket/rpc/internal/service_methods.h"

namespace locket {

Service::Service() = default;
Service::~Service() = default;

namespace internal {

UnaryHandler::UnaryHandler() = default;
UnaryHandler::~UnaryHandler() = default;

bool UnaryExchange::ReceiveRequest(google::protobuf::MessageLite* request) {
  return call_->ReceiveRequest(request);
}

void UnaryExchange::Finish(const Status& status, const google::protobuf::MessageLite& response) {
  call_->Finish(status, response);
}

void AddUnaryHandler(Service* service, const char* path, std::unique_ptr<UnaryHandler> handler) {
  ServiceMethods::AddTo(*service, path, std::move(handler));
}

}  // namespace internal
}  // namespace locket
