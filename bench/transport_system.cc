// Locket's transport without its RPC as a System: records of a Connection.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/bench/floor.h"
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

// Of a one-way stream, one record in so many looks whether the reader sleeps.
constexpr uint32_t kFlushEvery = 16;

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

// False at the connection's end.
bool SendMessage(Connection& connection, const std::string& bytes, bool more = false) {
  size_t sent = 0;
  do {
    const size_t piece = std::min(bytes.size() - sent, kPiece);
    uint8_t* const room = Reserve(connection, piece);
    if (room == nullptr) return false;
    CopyPayload(reinterpret_cast<char*>(room), bytes.data() + sent, piece);
    if (more) {
      connection.CommitMore(piece);
    } else {
      connection.Commit(piece);
    }
    sent += piece;
  } while (sent < bytes.size());
  return true;
}

// Fills `bytes`. False at the connection's end, and if more comes than that.
bool ReceiveMessage(Connection& connection, std::string& bytes) {
  size_t received = 0;
  do {
    Record record;
    if (!Receive(connection, &record) || record.size > bytes.size() - received) return false;
    CopyPayload(bytes.data() + received, reinterpret_cast<const char*>(record.data), record.size);
    connection.Release();
    received += record.size;
  } while (received < bytes.size());
  return true;
}

// What a false of the above means: OUT_OF_RANGE where the peer has closed.
absl::Status EndOf(const Connection& connection) {
  if (connection.status().ok()) return absl::InternalError("a message of another size");
  return absl::OutOfRangeError(std::string(connection.status().message()));
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
    if (SendMessage(connection_, request_) && ReceiveMessage(connection_, reply_)) {
      return absl::OkStatus();
    }
    return EndOf(connection_);
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    if (setup_.pattern() == Setup::PING_PONG) {
      return MeasureCalls(plan, [this] { return Call(); });
    }
    return MeasureStream(
        plan,
        [this](bool last) {
          request_[0] = last ? kLastMessage : kMessage;
          const bool more = !last && ++sent_ % kFlushEvery != 0;
          return SendMessage(connection_, request_, more) ? absl::OkStatus() : EndOf(connection_);
        },
        [this] {
          return ReceiveMessage(connection_, reply_) ? absl::OkStatus() : EndOf(connection_);
        });
  }

 private:
  const Setup setup_;
  const std::vector<std::unique_ptr<Connection>> connections_;
  Connection& connection_;
  std::string request_;
  std::string reply_;
  uint32_t sent_ = 0;
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

  // False at the connection's end.
  bool Answer(Connection& connection) {
    if (!ReceiveMessage(connection, request_)) return false;
    if (one_way_ && request_[0] != kLastMessage) return true;
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
  Connection* ready;
  do {
    ready = static_cast<Connection*>((*set)->Wait(transport::Deadline::Infinite()));
  } while (answerer.Answer(*ready));
  for (const auto& connection : connections) (*set)->Remove(connection.get());
  // The client ends all of its connections at once.
  const absl::Status end = EndOf(*ready);
  return absl::IsOutOfRange(end) ? absl::OkStatus() : end;
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
    while (answerer.Answer(*connections[0])) {
    }
    const absl::Status end = EndOf(*connections[0]);
    return absl::IsOutOfRange(end) ? absl::OkStatus() : end;
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
