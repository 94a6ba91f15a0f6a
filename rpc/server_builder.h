// Configures and starts a server.
#ifndef LOCKET_RPC_SERVER_BUILDER_H_
#define LOCKET_RPC_SERVER_BUILDER_H_

#include <memory>
#include <string>
#include <vector>

#include "locket/rpc/credentials.h"
#include "locket/rpc/server.h"
#include "locket/rpc/service.h"

namespace locket {

// Collects what a server needs, and starts it. Used by one thread.
class ServerBuilder {
 public:
  ServerBuilder();
  virtual ~ServerBuilder();
  ServerBuilder(const ServerBuilder&) = delete;
  ServerBuilder& operator=(const ServerBuilder&) = delete;

  // Listens on `address`, spelled as CreateChannel()'s targets; may be called several times.
  // *selected_port, if not null, is set once the server has started: to the port of a TCP spelling
  // (the one that was chosen where it was 0), otherwise to 1; it is borrowed until then.
  ServerBuilder& AddListeningPort(const std::string& address,
                                  std::shared_ptr<ServerCredentials> credentials,
                                  int* selected_port = nullptr);

  // Serves the methods of `service`, which is borrowed and outlives the server.
  ServerBuilder& RegisterService(Service* service);
  // gRPC: for calls to this host only. Locket has no hosts: the same as above.
  ServerBuilder& RegisterService(const std::string& host, Service* service);

  // In bytes; -1 is no limit. Defaults: 4 MiB received, no limit sent.
  ServerBuilder& SetMaxReceiveMessageSize(int size);
  ServerBuilder& SetMaxSendMessageSize(int size);
  // gRPC's old name of SetMaxReceiveMessageSize().
  ServerBuilder& SetMaxMessageSize(int size) { return SetMaxReceiveMessageSize(size); }

  // Null if the server cannot start: nothing is registered, two services share a method, an address
  // cannot be used or somebody listens there. The log says which (SetLogSink in
  // locket/transport/log.h).
  virtual std::unique_ptr<Server> BuildAndStart();

 private:
  struct Port {
    std::string address;
    std::shared_ptr<ServerCredentials> credentials;
    int* selected_port;
  };

  std::vector<Port> ports_;
  std::vector<Service*> services_;
  int max_receive_ = 4 * 1024 * 1024;
  int max_send_ = -1;
};

}  // namespace locket

#endif  // LOCKET_RPC_SERVER_BUILDER_H_
