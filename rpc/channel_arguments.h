// Options of a channel.
#ifndef LOCKET_RPC_CHANNEL_ARGUMENTS_H_
#define LOCKET_RPC_CHANNEL_ARGUMENTS_H_

#include <map>
#include <string>

namespace locket {

// gRPC's keys and values. Those without meaning here are kept and have no effect. A value type.
//
// Honoured now: "grpc.max_receive_message_length" and "grpc.max_send_message_length", in bytes;
// -1 is no limit. Defaults: 4 MiB received, no limit sent.
class ChannelArguments {
 public:
  ChannelArguments();
  ~ChannelArguments();
  ChannelArguments(const ChannelArguments& other);
  ChannelArguments& operator=(const ChannelArguments& other);

  void SetInt(const std::string& key, int value);
  void SetString(const std::string& key, const std::string& value);
  void SetMaxReceiveMessageSize(int size);
  void SetMaxSendMessageSize(int size);

  // The value last set for `key`, or `fallback`.
  int GetInt(const std::string& key, int fallback) const;

 private:
  std::map<std::string, int> ints_;
  std::map<std::string, std::string> strings_;
};

}  // namespace locket

#endif  // LOCKET_RPC_CHANNEL_ARGUMENTS_H_
