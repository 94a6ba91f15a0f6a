// The call objects of a channel, used again from call to call and from connection to connection.
#ifndef LOCKET_RPC_INTERNAL_CLIENT_CALL_POOL_H_
#define LOCKET_RPC_INTERNAL_CLIENT_CALL_POOL_H_

#include <memory>
#include <vector>

#include "locket/rpc/internal/client_call.h"

namespace locket::internal {

// Thread safety: none of its own; the channel's lock guards it. Outlives every call.
class ClientCallPool {
 public:
  // A call for a new owner, in use from now on.
  ClientCall& Take();

  // No connection knows the call any more. Its owner may still use it, until ClientCall::Done().
  void Give(ClientCall& call) { free_.push_back(&call); }

 private:
  std::vector<ClientCall*> free_;
  std::vector<std::unique_ptr<ClientCall>> calls_;  // All that there are.
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CLIENT_CALL_POOL_H_
