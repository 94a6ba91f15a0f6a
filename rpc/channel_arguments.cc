#include "locket/rpc/channel_arguments.h"

namespace locket {

ChannelArguments::ChannelArguments() = default;
ChannelArguments::~ChannelArguments() = default;
ChannelArguments::ChannelArguments(const ChannelArguments& other) = default;
ChannelArguments& ChannelArguments::operator=(const ChannelArguments& other) = default;

void ChannelArguments::SetInt(const std::string& key, int value) { ints_[key] = value; }

void ChannelArguments::SetString(const std::string& key, const std::string& value) {
  strings_[key] = value;
}

void ChannelArguments::SetMaxReceiveMessageSize(int size) {
  SetInt("grpc.max_receive_message_length", size);
}

void ChannelArguments::SetMaxSendMessageSize(int size) {
  SetInt("grpc.max_send_message_length", size);
}

int ChannelArguments::GetInt(const std::string& key, int fallback) const {
  const auto found = ints_.find(key);
  return found == ints_.end() ? fallback : found->second;
}

}  // namespace locket
