// The client's end of one connection, without a channel that would connect again.
#ifndef LOCKET_TESTS_BARE_CLIENT_H_
#define LOCKET_TESTS_BARE_CLIENT_H_

#include <memory>
#include <string>
#include <utility>

#include "google/protobuf/message_lite.h"
#include "locket/rpc/client_context.h"
#include "locket/rpc/internal/call_outcome.h"
#include "locket/rpc/internal/client_connection.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/rpc/internal/unary_call.h"
#include "locket/transport/connection.h"
#include "locket/transport/mutex.h"

namespace locket::tests {

// Thread safety: Call() from any thread.
class BareClient {
 public:
  BareClient(std::unique_ptr<transport::Connection> connection,
             const internal::Agreement& agreement, const std::string& target)
      : connection_(internal::ClientConnection::Make(
            mutex_, pool_, std::move(connection), agreement, internal::MessageLimits(), target)) {}
  ~BareClient() { connection_->Drop(); }
  BareClient(const BareClient&) = delete;
  BareClient& operator=(const BareClient&) = delete;

  bool usable() const { return connection_->usable(); }

  internal::CallOutcome Call(const internal::RpcMethod& method, ClientContext& context,
                             const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* response) {
    const internal::Outgoing outgoing(request);
    internal::ClientCall* call;
    bool has_id = false;
    {
      transport::MutexLock lock(mutex_);
      connection_->AssertLocked();
      call = &connection_->NewCall(outgoing.size, &has_id);
    }
    return internal::RunUnaryCall(*connection_, *call, has_id, method, context, outgoing, response);
  }

 private:
  transport::Mutex mutex_;
  internal::ClientCallPool pool_;
  internal::ClientConnection* const connection_;
};

}  // namespace locket::tests

#endif  // LOCKET_TESTS_BARE_CLIENT_H_
