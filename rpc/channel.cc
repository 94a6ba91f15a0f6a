#include "locket/rpc/channel.h"

#include <utility>

#include "locket/rpc/internal/channel_core.h"

namespace locket {

ChannelInterface::~ChannelInterface() = default;

Channel::Channel(std::unique_ptr<internal::ChannelCore> core) : core_(std::move(core)) {}

Channel::~Channel() {
  if (core_->forked()) static_cast<void>(core_.release());  // Leaked, in the child.
}

Status Channel::UnaryCall(const internal::RpcMethod& method, ClientContext* context,
                          const google::protobuf::MessageLite& request,
                          google::protobuf::MessageLite* response) {
  return core_->UnaryCall(method, *context, request, response);
}

namespace internal {

Status BlockingUnaryCall(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                         const google::protobuf::MessageLite& request,
                         google::protobuf::MessageLite* response) {
  return channel->UnaryCall(method, context, request, response);
}

}  // namespace internal
}  // namespace locket
