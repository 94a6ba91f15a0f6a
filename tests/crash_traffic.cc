#include "locket/tests/crash_traffic.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace locket::tests {
namespace {

using transport::Connection;
using transport::Deadline;
using transport::MutexLock;
using transport::ReadResult;
using transport::Record;
using transport::WaitResult;

constexpr auto kSoon = std::chrono::seconds(10);

struct Head {
  uint32_t sender;
  uint32_t sequence;
  uint64_t checksum;
};

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint64_t Checksum(const uint8_t* data, size_t size, uint64_t seed) {
  uint64_t sum = seed;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ data[i]) * 0x100000001b3;
  return sum;
}

uint64_t SeedOf(uint32_t sender, uint32_t sequence) {
  return Mix((uint64_t{sender} << 32 | sequence) + 1);
}

}  // namespace

Ledger* Ledger::Map(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Ledger)) != 0) abort();
  void* const map = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) abort();
  close(fd);
  return static_cast<Ledger*>(map);
}

size_t CrashRecordSize(uint32_t sender, uint32_t sequence) {
  const uint64_t seed = SeedOf(sender, sequence);
  // Mostly small, now and then some lines, and seldom some pages.
  const size_t limit = seed % 64 == 0 ? 8000 : seed % 8 == 0 ? 700 : 60;
  return sizeof(Head) + (seed >> 32) % limit;
}

void FillCrashRecord(uint8_t* room, uint32_t sender, uint32_t sequence) {
  const uint64_t seed = SeedOf(sender, sequence);
  const size_t size = CrashRecordSize(sender, sequence) - sizeof(Head);
  uint8_t* const noise = room + sizeof(Head);
  for (size_t i = 0; i < size; ++i) noise[i] = static_cast<uint8_t>((seed >> (i % 8 * 8)) + i);
  const Head head{sender, sequence, Checksum(noise, size, seed)};
  memcpy(room, &head, sizeof(head));
}

std::string RecordChecker::Check(const uint8_t* data, size_t size) {
  Head head;
  if (size < sizeof(head)) return absl::StrCat("a record of ", size, " bytes");
  memcpy(&head, data, sizeof(head));
  if (head.sender >= kSenders) return absl::StrCat("a record of sender ", head.sender);
  if (head.sequence != received_[head.sender]) {
    return absl::StrCat("record ", head.sequence, " of sender ", head.sender, ", and not ",
                        received_[head.sender]);
  }
  if (size != CrashRecordSize(head.sender, head.sequence) ||
      head.checksum !=
          Checksum(data + sizeof(head), size - sizeof(head), SeedOf(head.sender, head.sequence))) {
    return absl::StrCat("record ", head.sequence, " of sender ", head.sender, " is torn");
  }
  ++received_[head.sender];
  return "";
}

uint32_t RecordChecker::received() const {
  uint32_t sum = 0;
  for (const uint32_t each : received_) sum += each;
  return sum;
}

std::string RecordChecker::CompareTo(const Ledger& ledger) const {
  for (uint32_t sender = 0; sender < kSenders; ++sender) {
    const uint32_t committed = ledger.committed[sender].load();
    if (received_[sender] < committed || received_[sender] > committed + 1) {
      return absl::StrCat("sender ", sender, " committed ", committed, " records, and ",
                          received_[sender], " came");
    }
  }
  return "";
}

bool SharedSender::Send(uint32_t sender, uint32_t sequence) {
  const size_t size = CrashRecordSize(sender, sequence);
  MutexLock lock(mutex_);
  uint8_t* room;
  for (;;) {
    const uint32_t interrupts = connection_.interrupts();
    room = connection_.TryReserve(size);
    if (room != nullptr) break;
    if (connection_.closed()) return false;
    connection_.WaitWritable(size, Deadline::Infinite(), interrupts);
  }
  memset(room, 0xee, size / 2);
  if (hook_) hook_(Moment::kReserved);
  FillCrashRecord(room, sender, sequence);
  connection_.Commit(size);
  // A connection that ends takes no record any more, and does not say so here.
  if (ledger_ != nullptr && !connection_.closed()) ledger_->committed[sender].store(sequence + 1);
  if (hook_) hook_(Moment::kCommitted);
  return true;
}

SendingThreads::SendingThreads(Connection& connection, Ledger* ledger, Hook hook)
    : sender_(connection, ledger, std::move(hook)) {
  for (uint32_t sender = 0; sender < kSenders; ++sender) {
    threads_.emplace_back([this, sender] {
      uint32_t sequence = 0;
      while (sender_.Send(sender, sequence)) ++sequence;
    });
  }
}

SendingThreads::~SendingThreads() {
  for (std::thread& thread : threads_) thread.join();
}

std::string ReceiveToTheEnd(Connection& connection, RecordChecker* checker, const Hook& hook) {
  for (;;) {
    const uint32_t interrupts = connection.interrupts();
    Record record;
    switch (connection.TryReceive(&record)) {
      case ReadResult::kRecord: {
        if (hook) hook(Moment::kHolding);
        std::string wrong = checker->Check(record.data, record.size);
        if (!wrong.empty()) return wrong;
        connection.Release();
        break;
      }
      case ReadResult::kEmpty:
        if (connection.WaitReadable(Deadline::After(kSoon), interrupts) == WaitResult::kDeadline) {
          return "neither a record nor an end within 10 s";
        }
        break;
      case ReadResult::kEnd:
        return "";
    }
  }
}

absl::StatusOr<std::unique_ptr<CrashServer>> CrashServer::Start(Options options) {
  std::unique_ptr<CrashServer> server(new CrashServer(std::move(options)));
  transport::ListenOptions listen;
  listen.ring_size = kCrashRingSize;
  listen.negotiate = [raw = server.get()](const std::string&) -> absl::StatusOr<std::string> {
    raw->At(Moment::kNegotiating);
    return std::string();
  };
  auto listener =
      transport::Listener::Listen(server->options_.target, std::move(listen),
                                  [raw = server.get()](std::unique_ptr<Connection> connection) {
                                    raw->At(Moment::kAccepted);
                                    MutexLock lock(raw->mutex_);
                                    Connection* const added = connection.get();
                                    Client& client = raw->clients_[added];
                                    client.connection = std::move(connection);
                                    client.end.client = added->peer().pid;
                                    if (!raw->set_->Add(added, &client).ok())
                                      raw->clients_.erase(added);
                                  });
  if (!listener.ok()) return listener.status();
  server->listener_ = *std::move(listener);
  server->thread_ = std::thread([raw = server.get()] { raw->Serve(); });
  return server;
}

CrashServer::~CrashServer() {
  stopping_.store(true);
  set_->Wake();
  if (thread_.joinable()) thread_.join();
  listener_.reset();
  MutexLock lock(mutex_);
  for (auto& [connection, client] : clients_) set_->Remove(connection);
}

void CrashServer::Serve() {
  while (!stopping_.load()) {
    auto* const client = static_cast<Client*>(set_->Wait(Deadline::Infinite()));
    {
      MutexLock lock(mutex_);
      while (paused_) changed_.Wait(mutex_);
    }
    if (client == nullptr || ServeOne(*client)) continue;
    set_->Remove(client->connection.get());
    client->end.status = client->connection->status();
    MutexLock lock(mutex_);
    const auto found = clients_.find(client->connection.get());
    End end = std::move(client->end);
    clients_.erase(found);
    // After the connection is gone: who sees the end may count what is left.
    ends_.push_back(std::move(end));
    changed_.NotifyAll();
  }
}

// False at the end of the client.
bool CrashServer::ServeOne(Client& client) {
  Connection& connection = *client.connection;
  Record record;
  switch (connection.TryReceive(&record)) {
    case ReadResult::kEmpty:
      return true;
    case ReadResult::kEnd:
      return false;
    case ReadResult::kRecord:
      break;
  }
  At(Moment::kHolding);
  if (client.end.wrong.empty()) {
    client.end.wrong = client.end.received.Check(record.data, record.size);
  }
  received_.fetch_add(1, std::memory_order_relaxed);
  connection.Release();
  const size_t size = CrashRecordSize(0, client.answers);
  uint8_t* const room = connection.TryReserve(size);
  if (room == nullptr) return true;
  At(Moment::kReserved);
  FillCrashRecord(room, 0, client.answers);
  connection.Commit(size);
  ++client.answers;
  if (options_.ledger != nullptr && !connection.closed()) {
    options_.ledger->committed[0].store(client.answers);
  }
  At(Moment::kCommitted);
  return true;
}

void CrashServer::Pause(bool paused) {
  MutexLock lock(mutex_);
  paused_ = paused;
  changed_.NotifyAll();
}

size_t CrashServer::clients() {
  MutexLock lock(mutex_);
  return clients_.size();
}

std::optional<CrashServer::End> CrashServer::NextEnd(pid_t client) {
  const Deadline deadline = Deadline::After(kSoon);
  MutexLock lock(mutex_);
  for (;;) {
    while (!ends_.empty()) {
      End end = std::move(ends_.front());
      ends_.pop_front();
      if (client == 0 || end.client == client) return end;
    }
    if (!changed_.WaitUntil(mutex_, deadline) && ends_.empty()) return std::nullopt;
  }
}

}  // namespace locket::tests
