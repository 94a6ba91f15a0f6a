#include "locket/rpc/internal/channel_core.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "locket/rpc/internal/call_tie.h"
#include "locket/rpc/internal/fork_generation.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/unary_call.h"
#include "locket/transport/endpoint.h"

namespace locket::internal {

using transport::Deadline;
using transport::MutexLock;

namespace {

// A server that accepts and then says nothing is given up after this, as in gRPC.
constexpr std::chrono::seconds kConnectTimeout(20);

// How often a call that no handler has seen is tried on another connection.
constexpr int kAttempts = 3;

}  // namespace

ChannelCore::ChannelCore(std::string target, MessageLimits limits, Status lame)
    : owner_(getpid()),
      fork_generation_(ForkGeneration()),
      target_(std::move(target)),
      limits_(limits),
      lame_(std::move(lame)) {}

ChannelCore::~ChannelCore() {
  if (connection_ != nullptr) connection_->Drop();
}

bool ChannelCore::forked() const { return fork_generation_ != ForkGeneration(); }

std::shared_ptr<Channel> ChannelCore::MakeChannel(std::unique_ptr<ChannelCore> core) {
  return std::shared_ptr<Channel>(new Channel(std::move(core)));
}

Status ChannelCore::UnaryCall(const RpcMethod& method, ClientContext& context,
                              const google::protobuf::MessageLite& request,
                              google::protobuf::MessageLite* response) {
  CallTie::SetPeer(context, target_);
  CallOutcome outcome = Run(method, context, request, response);
  if (outcome.debug != nullptr) {
    CallTie::SetDebugError(context, absl::StrCat(static_cast<int>(outcome.status.error_code()), " ",
                                                 outcome.status.error_message(), ": ",
                                                 method.path(), ": ", *outcome.debug));
  }
  return std::move(outcome.status);
}

CallOutcome ChannelCore::Run(const RpcMethod& method, ClientContext& context,
                             const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* response) {
  if (!lame_.ok()) return LameChannel(lame_, target_);
  // Before any lock, which another thread of the parent may have held.
  if (forked()) return ForkedChannel(target_, owner_);
  const Deadline deadline = CallTie::deadline(context);
  if (deadline.passed()) return DeadlineExceeded();
  const Outgoing outgoing(request);
  CallOutcome outcome;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ClientConnection* connection;
    ClientCall* call;
    bool has_id = false;
    {
      MutexLock lock(mutex_);
      if (absl::Status status = NeedConnection(context, deadline); !status.ok()) {
        return CallTie::cancelled(context) ? Cancelled() : NotConnected(status, target_);
      }
      connection = connection_;
      connection->AssertLocked();
      call = &connection->NewCall(outgoing.size, &has_id);
    }
    outcome = RunUnaryCall(*connection, *call, has_id, method, context, outgoing, response);
    if (!outcome.not_begun) break;
  }
  return outcome;
}

absl::Status ChannelCore::NeedConnection(const ClientContext& context, Deadline deadline) {
  const uint64_t attempts_before = attempts_;
  while (connection_ == nullptr || !connection_->usable()) {
    if (CallTie::cancelled(context)) {
      return absl::CancelledError("before there was a connection");
    }
    if (connecting_) {
      if (!connected_.WaitUntil(mutex_, deadline)) {
        return absl::DeadlineExceededError("another call of the channel was still connecting");
      }
      // What came of an attempt that began before this call serves this call too; but a deadline
      // that passed was the other caller's.
      if (!connecting_ && attempts_ != attempts_before && !last_error_.ok() &&
          last_error_.code() != absl::StatusCode::kDeadlineExceeded) {
        return last_error_;
      }
      continue;
    }
    connecting_ = true;
    ClientConnection* const old = std::exchange(connection_, nullptr);
    mutex_.Unlock();
    if (old != nullptr) old->Drop();
    absl::StatusOr<ClientConnection*> made = absl::ResourceExhaustedError("no memory to connect");
    try {
      made = Connect(deadline);
    } catch (const std::bad_alloc&) {  // The lock is to be held again, and others may connect.
    }
    mutex_.Lock();
    connecting_ = false;
    ++attempts_;
    last_error_ = made.status();
    connected_.NotifyAll();
    if (!made.ok()) return made.status();
    connection_ = *made;
  }
  return absl::OkStatus();
}

absl::StatusOr<ClientConnection*> ChannelCore::Connect(Deadline deadline) {
  const Handshake own;
  transport::ConnectOptions options;
  options.block = EncodeHandshake(own);
  absl::StatusOr<std::unique_ptr<transport::Connection>> connection =
      transport::Connect(target_, options, Earlier(deadline, Deadline::After(kConnectTimeout)));
  if (!connection.ok()) {
    if (connection.status().code() == absl::StatusCode::kDeadlineExceeded && !deadline.passed()) {
      return absl::UnavailableError(absl::StrCat(target_, ": the server does not answer"));
    }
    return connection.status();
  }
  const absl::StatusOr<Agreement> agreement = AgreeAsClient(own, (*connection)->peer_block());
  if (!agreement.ok()) {
    (*connection)->Close(agreement.status());
    return agreement.status();
  }
  return ClientConnection::Make(mutex_, pool_, *std::move(connection), *agreement, limits_,
                                target_);
}

}  // namespace locket::internal
