#include "locket/rpc/server_context.h"

#include "locket/rpc/internal/server_call.h"

namespace locket {

ServerContext::ServerContext() = default;
ServerContext::ServerContext(internal::ServerCall* call) : call_(call) {}
ServerContext::~ServerContext() = default;

bool ServerContext::IsCancelled() const { return call_ != nullptr && call_->cancelled(); }

std::chrono::system_clock::time_point ServerContext::deadline() const {
  if (call_ == nullptr) return std::chrono::system_clock::time_point::max();
  return call_->system_deadline();
}

void ServerContext::TryCancel() const {
  if (call_ != nullptr) call_->TryCancel();
}

std::string ServerContext::peer() const { return "unix:"; }

}  // namespace locket
