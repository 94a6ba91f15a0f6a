// What a handler learns about its call.
#ifndef LOCKET_RPC_SERVER_CONTEXT_H_
#define LOCKET_RPC_SERVER_CONTEXT_H_

#include <chrono>
#include <string>

namespace locket {

namespace internal {
class ServerCall;
}

// Lives from before the handler is called until it has returned; a default-constructed one, for
// tests of handlers, is never cancelled and has no deadline. All of it is thread-safe.
class ServerContext {
 public:
  ServerContext();
  ~ServerContext();
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // True once nobody waits for the answer any more: the client cancelled or died, the deadline has
  // passed, the server is being shut down and its time of grace is over, or TryCancel() was called.
  // The handler is not interrupted; its answer goes nowhere.
  bool IsCancelled() const;

  // The client's deadline on this host's system clock, as that ran when a handler first asked;
  // time_point::max() if it has none.
  std::chrono::system_clock::time_point deadline() const;

  // Ends the call CANCELLED "Cancelled on the server side", whatever the handler returns later.
  void TryCancel() const;

  // "unix:": a client's socket has no name.
  std::string peer() const;

 private:
  friend class internal::ServerCall;
  explicit ServerContext(internal::ServerCall* call);

  internal::ServerCall* const call_ = nullptr;
};

}  // namespace locket

#endif  // LOCKET_RPC_SERVER_CONTEXT_H_
