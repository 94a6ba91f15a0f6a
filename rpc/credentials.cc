#include "locket/rpc/credentials.h"

namespace locket {

ChannelCredentials::ChannelCredentials() = default;
ChannelCredentials::~ChannelCredentials() = default;
ServerCredentials::ServerCredentials() = default;
ServerCredentials::~ServerCredentials() = default;

std::shared_ptr<ChannelCredentials> InsecureChannelCredentials() {
  return std::make_shared<ChannelCredentials>();
}

std::shared_ptr<ServerCredentials> InsecureServerCredentials() {
  return std::make_shared<ServerCredentials>();
}

}  // namespace locket
