#include "locket/rpc/client_context.h"

#include "locket/rpc/internal/call_tie.h"

namespace locket {

ClientContext::ClientContext() = default;
ClientContext::~ClientContext() = default;

void ClientContext::TryCancel() {
  transport::MutexLock lock(mutex_);
  cancelled_ = true;
  if (call_ != nullptr) call_->RequestCancel();
}

}  // namespace locket
