#include "locket/rpc/client_context.h"

#include "locket/rpc/internal/call_tie.h"

namespace locket {

ClientContext::ClientContext() = default;
ClientContext::~ClientContext() = default;

void ClientContext::TryCancel() { internal::CallTie::Cancel(*this); }

}  // namespace locket
