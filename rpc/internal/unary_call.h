// The synchronous unary call: starts the operations of one call, and waits for them.
#ifndef LOCKET_RPC_INTERNAL_UNARY_CALL_H_
#define LOCKET_RPC_INTERNAL_UNARY_CALL_H_

#include "google/protobuf/message_lite.h"
#include "locket/rpc/client_context.h"
#include "locket/rpc/internal/call_outcome.h"
#include "locket/rpc/internal/client_connection.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/rpc/internal/serialization.h"

namespace locket::internal {

// Runs `call`, which with `has_id` is a NewCall() of the connection, and leaves it. Returns when it
// has ended. `response` is filled if it ended OK, and otherwise stays as it was, or is empty if the
// bytes that came were no such message.
CallOutcome RunUnaryCall(ClientConnection& connection, ClientCall& call, bool has_id,
                         const RpcMethod& method, ClientContext& context, const Outgoing& request,
                         google::protobuf::MessageLite* response);

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_UNARY_CALL_H_
