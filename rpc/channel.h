// A client's way to one server.
#ifndef LOCKET_RPC_CHANNEL_H_
#define LOCKET_RPC_CHANNEL_H_

#include <memory>

#include "locket/rpc/status.h"

namespace google {
namespace protobuf {
class MessageLite;
}  // namespace protobuf
}  // namespace google

namespace locket {

class ChannelInterface;
class ClientContext;

namespace internal {
class ChannelCore;
class RpcMethod;
Status BlockingUnaryCall(ChannelInterface*, const RpcMethod&, ClientContext*,
                         const google::protobuf::MessageLite&, google::protobuf::MessageLite*);
}  // namespace internal

// What stubs call through. Made by CreateChannel().
//
// Thread safety: all of it, here and below; any number of calls at once.
class ChannelInterface {
 public:
  virtual ~ChannelInterface();

 private:
  friend Status internal::BlockingUnaryCall(ChannelInterface*, const internal::RpcMethod&,
                                            ClientContext*, const google::protobuf::MessageLite&,
                                            google::protobuf::MessageLite*);

  virtual Status UnaryCall(const internal::RpcMethod& method, ClientContext* context,
                           const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite* response) = 0;
};

// Connects to its server at the first call, and again at the next call after the connection has
// ended. Calls fail fast: UNAVAILABLE where nobody listens. Stubs share the ownership; the
// connection is closed when the last of them and all calls are gone.
class Channel final : public ChannelInterface, public std::enable_shared_from_this<Channel> {
 public:
  ~Channel() override;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

 private:
  friend class internal::ChannelCore;
  explicit Channel(std::unique_ptr<internal::ChannelCore> core);

  Status UnaryCall(const internal::RpcMethod& method, ClientContext* context,
                   const google::protobuf::MessageLite& request,
                   google::protobuf::MessageLite* response) override;

  std::unique_ptr<internal::ChannelCore> core_;
};

}  // namespace locket

#endif  // LOCKET_RPC_CHANNEL_H_
