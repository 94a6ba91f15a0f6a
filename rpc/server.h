// A running server.
#ifndef LOCKET_RPC_SERVER_H_
#define LOCKET_RPC_SERVER_H_

#include <memory>

#include "locket/rpc/time_point.h"
#include "locket/transport/deadline.h"

namespace locket {

class ServerBuilder;

namespace internal {
class ServerCore;
}

// Made by ServerBuilder::BuildAndStart(); serves until Shutdown(). Its services outlive it.
//
// Thread safety: all but the destructor. Not to be shut down or destroyed by its own handlers,
// which it waits for.
class Server {
 public:
  // Shutdown(), if that has not been called.
  virtual ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns when a Shutdown() has; somebody else must call it.
  virtual void Wait();

  // Stops listening at once: new calls fail UNAVAILABLE. Calls that run may finish until `deadline`
  // (whatever TimePoint takes); then they are cancelled, and their clients get UNAVAILABLE. Always
  // waits until every handler has returned. The second time it only waits.
  template <typename T>
  void Shutdown(const T& deadline) {
    ShutdownBy(TimePoint<T>(deadline).deadline());
  }

  // Without a deadline. A client that does not take its answers holds it up as long as it lives, as
  // in gRPC.
  void Shutdown();

 private:
  friend class ServerBuilder;
  explicit Server(std::unique_ptr<internal::ServerCore> core);

  void ShutdownBy(transport::Deadline deadline);

  const std::unique_ptr<internal::ServerCore> core_;
};

}  // namespace locket

#endif  // LOCKET_RPC_SERVER_H_
