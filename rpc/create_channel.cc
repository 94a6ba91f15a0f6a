#include "locket/rpc/create_channel.h"

#include <memory>
#include <utility>

#include "locket/rpc/internal/channel_core.h"

namespace locket {
namespace {

// gRPC's -1 is no limit.
int64_t Limit(int value) { return value < 0 ? INT64_MAX : value; }

// What every call of a channel that cannot work ends with; OK for one that may.
Status Lame(const std::string& target, const std::shared_ptr<ChannelCredentials>& credentials) {
  if (credentials == nullptr) return Status(INVALID_ARGUMENT, "Invalid credentials.");
  if (target.empty()) return Status(UNKNOWN, "Failed to create secure client channel");
  return Status();
}

}  // namespace

std::shared_ptr<Channel> CreateChannel(const std::string& target,
                                       const std::shared_ptr<ChannelCredentials>& credentials) {
  return CreateCustomChannel(target, credentials, ChannelArguments());
}

std::shared_ptr<Channel> CreateCustomChannel(const std::string& target,
                                             const std::shared_ptr<ChannelCredentials>& credentials,
                                             const ChannelArguments& arguments) {
  constexpr int kDefaultReceive = 4 * 1024 * 1024;
  internal::MessageLimits limits;
  limits.receive = Limit(arguments.GetInt("grpc.max_receive_message_length", kDefaultReceive));
  limits.send = Limit(arguments.GetInt("grpc.max_send_message_length", -1));
  return internal::ChannelCore::MakeChannel(
      std::make_unique<internal::ChannelCore>(target, limits, Lame(target, credentials)));
}

}  // namespace locket
