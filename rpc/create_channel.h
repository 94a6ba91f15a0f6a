// Makes channels.
#ifndef LOCKET_RPC_CREATE_CHANNEL_H_
#define LOCKET_RPC_CREATE_CHANNEL_H_

#include <memory>
#include <string>

#include "locket/rpc/channel.h"
#include "locket/rpc/channel_arguments.h"
#include "locket/rpc/credentials.h"

namespace locket {

// A channel to the server that listens on `target`: "unix:path", "unix:///path",
// "unix-abstract:name", "locket:name", "localhost:port". Does not connect yet, and never fails: a
// channel that cannot work (no target, no credentials) fails each of its calls.
std::shared_ptr<Channel> CreateChannel(const std::string& target,
                                       const std::shared_ptr<ChannelCredentials>& credentials);

// The same with options.
std::shared_ptr<Channel> CreateCustomChannel(const std::string& target,
                                             const std::shared_ptr<ChannelCredentials>& credentials,
                                             const ChannelArguments& arguments);

}  // namespace locket

#endif  // LOCKET_RPC_CREATE_CHANNEL_H_
