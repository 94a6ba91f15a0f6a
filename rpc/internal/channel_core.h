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
  ~ChannelCore();
  ChannelCore(const ChannelCore&) = delete;
  ChannelCore& operator=(const ChannelCore&) = delete;

  static std::shared_ptr<Channel> MakeChannel(std::unique_ptr<ChannelCore> core);

  // In a process that was forked since: its locks and its sleepers are those of threads that are
  // not there, so it can be neither used nor destroyed.
  bool forked() const;

  Status UnaryCall(const RpcMethod& method, ClientContext& context,
                   const google::protobuf::MessageLite& request,
                   google::protobuf::MessageLite* response);

 private:
  // Sees to it that connection_ is usable, connecting now if it is not. Of several callers one
  // connects, the others wait for what comes of it, each until its own deadline. The lock is held
  // before and after, but not all the time.
  absl::Status NeedConnection(const ClientContext& context, transport::Deadline deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<ClientConnection*> Connect(transport::Deadline deadline)
      ABSL_LOCKS_EXCLUDED(mutex_);
  CallOutcome Run(const RpcMethod& method, ClientContext& context,
                  const google::protobuf::MessageLite& request,
                  google::protobuf::MessageLite* response);

  const pid_t owner_;  // For people.
  const uint64_t fork_generation_;
  const std::string target_;
  const MessageLimits limits_;
  const Status lame_;

  // The lock of the connections, too: a call finds its connection, its call object and its id under
  // one hold of it.
  transport::Mutex mutex_;
  ClientCallPool pool_;  // Used under the lock, by the connections.
  // The last one, perhaps no longer usable; held, if not null.
  ClientConnection* connection_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool connecting_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t attempts_ ABSL_GUARDED_BY(mutex_) = 0;  // Those that are over.
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  transport::CondVar connected_;  // Or failed.
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_CHANNEL_CORE_H_
