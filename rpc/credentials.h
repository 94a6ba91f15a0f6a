// Who may talk to whom. On one host the kernel says who is there, so "insecure" means: without TLS.
#ifndef LOCKET_RPC_CREDENTIALS_H_
#define LOCKET_RPC_CREDENTIALS_H_

#include <memory>

namespace locket {

// A client's credentials, for CreateChannel(). Immutable, and so thread-safe.
class ChannelCredentials {
 public:
  ChannelCredentials();
  virtual ~ChannelCredentials();
};

// A server's credentials, for ServerBuilder::AddListeningPort(). Immutable, and so thread-safe.
class ServerCredentials {
 public:
  ServerCredentials();
  virtual ~ServerCredentials();
};

// gRPC's names for what Locket does by default: peers are admitted by the uid that the kernel
// reports, a server's own and root.
std::shared_ptr<ChannelCredentials> InsecureChannelCredentials();
std::shared_ptr<ServerCredentials> InsecureServerCredentials();

}  // namespace locket

#endif  // LOCKET_RPC_CREDENTIALS_H_
