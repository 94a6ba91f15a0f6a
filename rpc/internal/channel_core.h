// What stands behind a Channel: one connection at a time, made when a call needs it.
#ifndef LOCKET_RPC_INTERNAL_CHANNEL_CORE_H_
#define LOCKET_RPC_INTERNAL_CHANNEL_CORE_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message_lite.h"
#include "locket/rpc/channel.h"
#include "locket/rpc/internal/client_connection.h"
#include "locket/rpc/internal/rpc_method.h"
#include "locket/transport/deadline.h"
#include "locket/transport/mutex.h"

namespace locket::internal {

// Thread safety: all of it.
class ChannelCore {
 public:
  // A `lame` status that is not OK is how every call ends.
  ChannelCore(std::string target, MessageLimits limits, Status lame);

  static std::shared_ptr<Channel> MakeChannel(std::unique_ptr<ChannelCore> core);

  Status UnaryCall(const RpcMethod& method, ClientContext& context,
                   const google::protobuf::MessageLite& request,
                   google::protobuf::MessageLite* response);

 private:
  using Shared = std::shared_ptr<ClientConnection>;

  // A usable connection, made now if there is none. Of several callers one connects, the others
  // wait for what comes of it, each until its own deadline.
  absl::StatusOr<Shared> GetConnection(const ClientContext& context, transport::Deadline deadline);
  absl::StatusOr<Shared> Connect(transport::Deadline deadline);
  CallOutcome Run(const RpcMethod& method, ClientContext& context,
                  const google::protobuf::MessageLite& request,
                  google::protobuf::MessageLite* response);

  const pid_t owner_;  // For people.
  const uint64_t fork_generation_;
  const std::shared_ptr<const std::string> target_;
  const MessageLimits limits_;
  const Status lame_;

  transport::Mutex mutex_;
  Shared connection_ ABSL_GUARDED_BY(mutex_);  // The last one; perhaps no longer usable.
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t attempts_ ABSL_GUARDED_BY(mutex_) = 0;  // Those that are over.
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  transport::CondVar connected_;  // Or failed.
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CHANNEL_CORE_H_
