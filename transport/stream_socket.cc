#include "locket/transport/stream_socket.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/stream_core.h"
#include "locket/transport/internal/stream_setup.h"
#include "locket/transport/internal/stream_status.h"

namespace locket::transport {
namespace {

using internal::ClosedHere;
using internal::StreamCore;

// relaxed: Close() is seen at the latest where the connection is looked at.
bool Closed(const StreamCore& core) { return core.closed_here.load(std::memory_order_relaxed); }

}  // namespace

ReceivedRecord::ReceivedRecord() = default;

ReceivedRecord::ReceivedRecord(std::shared_ptr<StreamCore> core, Record record)
    : core_(std::move(core)), record_(record) {}

ReceivedRecord::~ReceivedRecord() { Release(); }

ReceivedRecord::ReceivedRecord(ReceivedRecord&& other) noexcept
    : core_(std::move(other.core_)), record_(std::exchange(other.record_, Record())) {}

ReceivedRecord& ReceivedRecord::operator=(ReceivedRecord&& other) noexcept {
  if (this == &other) return *this;
  Release();
  core_ = std::move(other.core_);
  record_ = std::exchange(other.record_, Record());
  return *this;
}

void ReceivedRecord::Release() {
  if (core_ == nullptr) return;
  core_->reader.Release();
  core_.reset();
  record_ = Record();
}

StreamSocket::StreamSocket(std::shared_ptr<StreamCore> core) : core_(std::move(core)) {}

StreamSocket::~StreamSocket() { Close(); }

absl::StatusOr<std::unique_ptr<StreamSocket>> StreamSocket::Connect(const std::string& address,
                                                                    const SocketOptions& options,
                                                                    Deadline deadline) {
  absl::StatusOr<ConnectOptions> connect = internal::StreamConnectOptions(options);
  if (!connect.ok()) return connect.status();
  absl::StatusOr<std::string> target = internal::StreamTarget(address, options);
  if (!target.ok()) return target.status();
  absl::StatusOr<std::unique_ptr<Connection>> connection =
      transport::Connect(*target, *connect, deadline);
  if (!connection.ok()) return connection.status();
  absl::Status stream = internal::CheckStreamBlock((*connection)->peer_block(), "server");
  if (!stream.ok()) return stream;
  return std::unique_ptr<StreamSocket>(
      new StreamSocket(internal::MakeStreamCore(*std::move(connection), options)));
}

absl::StatusOr<StreamSocketPair> StreamSocket::CreatePair(const SocketOptions& options) {
  absl::StatusOr<ListenOptions> listen = internal::StreamListenOptions(options);
  if (!listen.ok()) return listen.status();
  absl::StatusOr<ConnectOptions> connect = internal::StreamConnectOptions(options);
  if (!connect.ok()) return connect.status();
  absl::StatusOr<ConnectionPair> pair = transport::CreatePair(*listen, *connect);
  if (!pair.ok()) return pair.status();
  StreamSocketPair sockets;
  sockets.first.reset(
      new StreamSocket(internal::MakeStreamCore(std::move(pair->connecting), options)));
  sockets.second.reset(
      new StreamSocket(internal::MakeStreamCore(std::move(pair->accepting), options)));
  return sockets;
}

absl::StatusOr<size_t> StreamSocket::Read(void* data, size_t size, Deadline deadline) {
  if (Closed(*core_)) return ClosedHere();
  return core_->reader.Read(data, size, &deadline);
}

absl::StatusOr<size_t> StreamSocket::TryRead(void* data, size_t size) {
  if (Closed(*core_)) return ClosedHere();
  return core_->reader.Read(data, size, nullptr);
}

bool StreamSocket::end_of_file() const { return core_->reader.end_of_stream(); }

absl::StatusOr<size_t> StreamSocket::Write(const void* data, size_t size, Deadline deadline) {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Write(data, size, &deadline);
}

absl::StatusOr<size_t> StreamSocket::TryWrite(const void* data, size_t size) {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Write(data, size, nullptr);
}

absl::Status StreamSocket::Flush(Deadline deadline) {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Flush(&deadline).status();
}

absl::StatusOr<bool> StreamSocket::TryFlush() {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Flush(nullptr);
}

size_t StreamSocket::max_record() const { return core_->writer.max_record(); }

absl::StatusOr<uint8_t*> StreamSocket::Reserve(size_t size, Deadline deadline) {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Reserve(size, &deadline);
}

absl::StatusOr<uint8_t*> StreamSocket::TryReserve(size_t size) {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Reserve(size, nullptr);
}

absl::Status StreamSocket::Commit(size_t size) {
  if (Closed(*core_)) return ClosedHere();
  return core_->writer.Commit(size);
}

absl::StatusOr<ReceivedRecord> StreamSocket::Receive(Deadline deadline) {
  return ReceiveUntil(&deadline);
}

absl::StatusOr<ReceivedRecord> StreamSocket::TryReceive() { return ReceiveUntil(nullptr); }

absl::StatusOr<ReceivedRecord> StreamSocket::ReceiveUntil(const Deadline* until) {
  if (Closed(*core_)) return ClosedHere();
  if (Record at_once; core_->reader.ReceiveAtOnce(&at_once)) return ReceivedRecord(core_, at_once);
  absl::StatusOr<std::optional<Record>> record = core_->reader.Receive(until);
  if (!record.ok()) return record.status();
  if (!record->has_value()) return ReceivedRecord();
  return ReceivedRecord(core_, **record);
}

absl::Status StreamSocket::Shutdown(ShutdownHow how, Deadline deadline) {
  if (Closed(*core_)) return ClosedHere();
  if (how != ShutdownHow::kWrite) core_->reader.End();
  if (how == ShutdownHow::kRead) return absl::OkStatus();
  return core_->writer.End(&deadline);
}

void StreamSocket::Close() { core_->Close(); }

const PeerIdentity& StreamSocket::peer() const { return core_->connection->peer(); }

Connection* StreamSocket::connection() { return core_->connection.get(); }

}  // namespace locket::transport
