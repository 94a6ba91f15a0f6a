// Locket's transport without its RPC as a System: records of a Connection.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/bench/limits.h"
#include "locket/bench/measure.h"
#include "locket/bench/system.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/mutex.h"
#include "locket/transport/wait_set.h"

namespace locket::bench {
namespace {

using transport::Connection;
using transport::ReadResult;
using transport::Record;

// What a message takes of a record at most: of a larger one the reader copies the first piece while
// the writer copies the next.
constexpr size_t kPiece = size_t{1} << 16;

// A thousand connections are not to need gigabytes.
constexpr size_t kRingOfMany = size_t{1} << 16;

absl::Status EndOf(const Connection& connection) {
  return absl::OutOfRangeError(std::string(connection.status().message()));
}

// Room for a record; null at the connection's end.
uint8_t* Reserve(Connection& connection, size_t size) {
  for (;;) {
    if (uint8_t* room = connection.TryReserve(size)) return room;
    connection.WaitWritable(size, transport::Deadline::Infinite(), connection.interrupts());
    if (connection.closed()) return nullptr;
  }
}

// The next record; false at the connection's end.
bool Receive(Connection& connection, Record* record) {
  for (;;) {
    switch (connection.TryReceive(record)) {
      case ReadResult::kRecord:
        return true;
      case ReadResult::kEnd:
        return false;
      case ReadResult::kEmpty:
        connection.WaitReadable(transport::Deadline::Infinite(), connection.interrupts());
    }
  }
}

absl::Status SendMessage(Connection& connection, const std::string& bytes) {
  size_t sent = 0;
  do {
    const size_t piece = std::min(bytes.size() - sent, kPiece);
    uint8_t* const room = Reserve(connection, piece);
    if (room == nullptr) return EndOf(connection);
    memcpy(room, bytes.data() + sent, piece);
    connection.Commit(piece);
    sent += piece;
  } while (sent < bytes.size());
  return absl::OkStatus();
}

// Fills `bytes`. OUT_OF_RANGE at the connection's end.
absl::Status ReceiveMessage(Connection& connection, std::string& bytes) {
  size_t received = 0;
  do {
    Record record;
    if (!Receive(connection, &record)) return EndOf(connection);
    if (record.size > bytes.size() - received) {
      return absl::InternalError(absl::StrCat("a record of ", record.size, " bytes"));
    }
    memcpy(bytes.data() + received, record.data, record.size);
    connection.Release();
    received += record.size;
  } while (received < bytes.size());
  return absl::OkStatus();
}

transport::SpinOptions SpinOf(const Setup& setup) {
  transport::SpinOptions spin;
  if (setup.parked()) spin.limit = std::chrono::nanoseconds(0);
  return spin;
}

std::string TargetOf(const Setup& setup) { return absl::StrCat("unix://", setup.socket_path()); }

class TransportClient final : public Client {
 public:
  // The last connection talks, the others keep silent.
  TransportClient(const Setup& setup, std::vector<std::unique_ptr<Connection>> connections)
      : setup_(setup),
        connections_(std::move(connections)),
        connection_(*connections_.back()),
        request_(setup.shape().request_bytes(), kMessage),
        reply_(setup.shape().reply_bytes(), '\0') {}

  absl::Status Call() override {
    if (absl::Status sent = SendMessage(connection_, request_); !sent.ok()) return sent;
    return ReceiveMessage(connection_, reply_);
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    if (setup_.pattern() == Setup::PING_PONG) {
      return MeasureCalls(plan, [this] { return Call(); });
    }
    return MeasureStream(
        plan,
        [this](bool last) {
          request_[0] = last ? kLastMessage : kMessage;
          return SendMessage(connection_, request_);
        },
        [this] { return ReceiveMessage(connection_, reply_); });
  }

 private:
  const Setup setup_;
  const std::vector<std::unique_ptr<Connection>> connections_;
  Connection& connection_;
  std::string request_;
  std::string reply_;
};

// Connections as they are accepted.
class Accepted {
 public:
  void Add(std::unique_ptr<Connection> connection) {
    transport::MutexLock lock(mutex_);
    connections_.push_back(std::move(connection));
    changed_.NotifyAll();
  }

  std::vector<std::unique_ptr<Connection>> WaitFor(size_t count) {
    transport::MutexLock lock(mutex_);
    while (connections_.size() < count) {
      changed_.WaitUntil(mutex_, transport::Deadline::Infinite());
    }
    return std::move(connections_);
  }

 private:
  transport::Mutex mutex_;
  transport::CondVar changed_;
  std::vector<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
};

// Reads one message, and answers it if it is to be answered.
class Answerer {
 public:
  explicit Answerer(const Setup& setup)
      : one_way_(setup.pattern() == Setup::ONE_WAY),
        request_(setup.shape().request_bytes(), '\0'),
        reply_(setup.shape().reply_bytes(), 'p') {}

  absl::Status Answer(Connection& connection) {
    absl::Status status = ReceiveMessage(connection, request_);
    if (!status.ok()) return status;
    if (one_way_ && request_[0] != kLastMessage) return absl::OkStatus();
    return SendMessage(connection, reply_);
  }

 private:
  const bool one_way_;
  std::string request_;
  const std::string reply_;
};

absl::Status ServeMany(const std::vector<std::unique_ptr<Connection>>& connections,
                       Answerer answerer) {
  absl::StatusOr<std::unique_ptr<transport::WaitSet>> set = transport::WaitSet::Create();
  if (!set.ok()) return set.status();
  for (const auto& connection : connections) {
    absl::Status added = (*set)->Add(connection.get(), connection.get());
    if (!added.ok()) return added;
  }
  absl::Status status;
  while (status.ok()) {
    void* const ready = (*set)->Wait(transport::Deadline::Infinite());
    status = answerer.Answer(*static_cast<Connection*>(ready));
  }
  for (const auto& connection : connections) (*set)->Remove(connection.get());
  // The client ends all of its connections at once.
  return absl::IsOutOfRange(status) ? absl::OkStatus() : status;
}

class TransportSystem final : public System {
 public:
  std::string name() const override { return "locket"; }

  absl::Status Serve(const Setup& setup, ParentLink& parent) const override {
    const size_t count = std::max(setup.connections(), 1u);
    if (absl::Status raised = AllowDescriptors(count); !raised.ok()) return raised;
    Accepted accepted;
    transport::ListenOptions options;
    options.spin = SpinOf(setup);
    if (setup.connections() > 0) options.ring_size = kRingOfMany;
    auto listener = transport::Listener::Listen(
        TargetOf(setup), options, [&accepted](std::unique_ptr<Connection> connection) {
          accepted.Add(std::move(connection));
        });
    if (!listener.ok()) return listener.status();
    parent.Ready();
    const std::vector<std::unique_ptr<Connection>> connections = accepted.WaitFor(count);
    Answerer answerer(setup);
    if (setup.connections() > 0) return ServeMany(connections, std::move(answerer));
    absl::Status status;
    while (status.ok()) status = answerer.Answer(*connections[0]);
    return absl::IsOutOfRange(status) ? absl::OkStatus() : status;
  }

  absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const override {
    const size_t count = std::max(setup.connections(), 1u);
    if (absl::Status raised = AllowDescriptors(count); !raised.ok()) return raised;
    transport::ConnectOptions options;
    options.spin = SpinOf(setup);
    std::vector<std::unique_ptr<Connection>> connections;
    while (connections.size() < count) {
      absl::StatusOr<std::unique_ptr<Connection>> connection = transport::Connect(
          TargetOf(setup), options, transport::Deadline::After(std::chrono::seconds(10)));
      if (!connection.ok()) return connection.status();
      connections.push_back(*std::move(connection));
    }
    return std::make_unique<TransportClient>(setup, std::move(connections));
  }
};

}  // namespace

std::unique_ptr<System> MakeTransportSystem() { return std::make_unique<TransportSystem>(); }

}  // namespace locket::bench
