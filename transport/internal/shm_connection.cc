#include "locket/transport/internal/shm_connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locket/transport/internal/spin.h"

namespace locket::transport::internal {
namespace {

RingControl& ControlOf(const Established& established, Direction direction) {
  return established.segment->header().rings[direction];
}

// Changes kParked to kRung; true for the one who did it, and must wake the sleeper. The fence is
// the one between (c) and (d) of the header.
bool TakeSleeper(std::atomic<uint32_t>& state) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // relaxed: ordered by the fence.
  uint32_t parked = kParked;
  return state.load(std::memory_order_relaxed) == kParked &&
         state.compare_exchange_strong(parked, kRung, std::memory_order_relaxed);
}

// (a) and the fence.
void AnnounceSleep(std::atomic<uint32_t>& state) {
  state.store(kParked, std::memory_order_relaxed);  // relaxed: ordered by the fence.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void AnnounceWaking(std::atomic<uint32_t>& state) {
  // relaxed: a waker that still reads kParked rings in vain.
  state.store(kRunning, std::memory_order_relaxed);
}

}  // namespace

ShmConnection::ShmConnection(Established established, Side side, SpinOptions spin)
    : established_(std::move(established)),
      side_(side),
      owner_(getpid()),
      spin_nanos_(SpinNanosBeside(established_.peer.pid, spin.limit.count())),
      outgoing_(ControlOf(established_, side == Side::kConnecting ? kToAccepting : kToConnecting)),
      incoming_(ControlOf(established_, side == Side::kConnecting ? kToConnecting : kToAccepting)),
      writer_(established_.segment->ring(side == Side::kConnecting ? kToAccepting : kToConnecting),
              established_.segment->geometry().ring_size, outgoing_),
      reader_(established_.segment->ring(side == Side::kConnecting ? kToConnecting : kToAccepting),
              established_.segment->geometry().ring_size, incoming_) {}

absl::StatusOr<std::unique_ptr<ShmConnection>> ShmConnection::Create(Established established,
                                                                     Side side, SpinOptions spin) {
  absl::StatusOr<PeerWatch*> watch = PeerWatch::Get();
  if (!watch.ok()) return watch.status();
  std::unique_ptr<ShmConnection> connection(new ShmConnection(std::move(established), side, spin));
  absl::StatusOr<uint64_t> id =
      (*watch)->Add(connection->established_.socket.get(), connection.get());
  if (!id.ok()) return id.status();
  connection->watch_ = *watch;
  connection->watch_id_ = *id;
  return connection;
}

ShmConnection::~ShmConnection() {
  if (watch_ != nullptr) watch_->Remove(watch_id_);
  Close(absl::CancelledError("the connection was destroyed"));
}

uint8_t* ShmConnection::TryReserve(size_t size) {
  if (life_.load(std::memory_order_relaxed) != kOpen) return nullptr;  // relaxed: a hint.
  if (size > max_record()) return nullptr;
  uint8_t* const room = writer_.TryReserve(size);
  if (room == nullptr && writer_.broken()) {
    Close(absl::InternalError("the peer's ring head is not between the last one and the tail"));
  }
  return room;
}

void ShmConnection::Commit(size_t size) {
  // relaxed: a Close() in the same instant may come before or after.
  if (life_.load(std::memory_order_relaxed) != kOpen) return;
  writer_.Commit(size);
  if (TakeSleeper(outgoing_.reader_state)) WakePeersReader();
}

void ShmConnection::WakePeersReader() {
  if (side_ == Side::kConnecting) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(established_.doorbell.get(), &one, sizeof(one));
  } else {
    FutexWakeShared(outgoing_.reader_state);
  }
}

ReadResult ShmConnection::TryReceive(Record* record) {
  // Acquire, and before Peek(): see closed(). A record is delivered though the peer is gone.
  const uint32_t life = life_.load(std::memory_order_acquire);
  if (life == kClosed) return ReadResult::kEnd;
  switch (reader_.Peek(&record->data, &record->size)) {
    case RingReader::Peeked::kRecord:
      return ReadResult::kRecord;
    case RingReader::Peeked::kNone:
      return life == kOpen ? ReadResult::kEmpty : ReadResult::kEnd;
    case RingReader::Peeked::kBroken:
      break;
  }
  Close(absl::InternalError(absl::StrFormat(
      "the peer's record header %#x is none of a record of at most %d bytes", reader_.bad_word(),
      MaxRecordSize(established_.segment->geometry().ring_size))));
  return ReadResult::kEnd;
}

void ShmConnection::Release() {
  const uint64_t head = reader_.Release();
  std::atomic_thread_fence(std::memory_order_seq_cst);  // Between (c) and (d).
  // relaxed, all: ordered by the fence. The wanted head is the peer's word: it only decides when
  // the peer is woken.
  if (incoming_.writer_state.load(std::memory_order_relaxed) != kParked) return;
  if (head < incoming_.wanted_head.load(std::memory_order_relaxed)) return;
  uint32_t parked = kParked;
  if (incoming_.writer_state.compare_exchange_strong(parked, kRung, std::memory_order_relaxed)) {
    FutexWakeShared(incoming_.writer_state);
  }
}

template <typename Ready>
WaitResult ShmConnection::Wait(std::atomic<uint32_t>& state, Deadline deadline, uint32_t interrupts,
                               Ready ready) {
  // closed() too: the caller may have read `interrupts` after the end.
  const auto interrupted = [&] {
    return interrupts_.load(std::memory_order_acquire) != interrupts || closed();
  };
  const auto why_interrupted = [&] {
    if (!closed()) return WaitResult::kInterrupted;
    // What was committed before the end comes first.
    return ready() ? WaitResult::kReady : WaitResult::kClosed;
  };
  {
    Spin spin(spin_nanos_);
    do {
      if (ready()) return WaitResult::kReady;
      if (interrupted()) return why_interrupted();
      if (spin.at_clock() && deadline.passed()) return WaitResult::kDeadline;
    } while (spin.Continue());
  }
  for (;;) {
    AnnounceSleep(state);
    if (ready()) {
      AnnounceWaking(state);
      return WaitResult::kReady;
    }
    if (interrupted() || deadline.passed()) {
      AnnounceWaking(state);
      return interrupted() ? why_interrupted() : WaitResult::kDeadline;
    }
    FutexWaitTwo({&state, kParked}, {&interrupts_, interrupts}, deadline);
  }
}

WaitResult ShmConnection::WaitReadable(Deadline deadline, uint32_t interrupts) {
  return Wait(incoming_.reader_state, deadline, interrupts, [this] { return reader_.Ready(); });
}

WaitResult ShmConnection::WaitWritable(size_t size, Deadline deadline, uint32_t interrupts) {
  const uint64_t wanted = writer_.RoomAt(size);
  // relaxed: read by the peer after the fence that follows kParked.
  outgoing_.wanted_head.store(wanted, std::memory_order_relaxed);
  return Wait(outgoing_.writer_state, deadline, interrupts,
              [this, wanted] { return !closed() && writer_.ReaderReached(wanted); });
}

bool ShmConnection::ParkReader() {
  AnnounceSleep(incoming_.reader_state);
  if (!Readable()) return true;
  AnnounceWaking(incoming_.reader_state);
  return false;
}

void ShmConnection::UnparkReader() { AnnounceWaking(incoming_.reader_state); }

void ShmConnection::SetEndListener(EndListener* listener) {
  MutexLock lock(mutex_);
  end_listener_ = listener;
  if (listener != nullptr && closed()) listener->OnEnd();
}

// Lets go a writer whom a hostile server holds in the doorbell's write(). A ring that this takes
// away is not missed: the server sees the end, and reads what was committed before it.
void ShmConnection::FreeWriter() {
  const int doorbell = established_.doorbell.get();
  fcntl(doorbell, F_SETFL, O_NONBLOCK);
  uint64_t count;
  [[maybe_unused]] const ssize_t taken = read(doorbell, &count, sizeof(count));
}

void ShmConnection::Interrupt() {
  // Release: who sees the new count sees what was changed before it.
  interrupts_.fetch_add(1, std::memory_order_release);
  FutexWakeLocal(interrupts_);
}

void ShmConnection::Close(absl::Status reason) { End(kClosed, std::move(reason)); }

void ShmConnection::OnPeerGone(absl::Status reason) {
  // Bytes that nobody expects are a violation: no record of this peer is to be trusted.
  const bool violated = absl::IsInternal(reason);
  End(violated ? kClosed : kPeerGone, std::move(reason));
}

void ShmConnection::End(Life life, absl::Status reason) {
  {
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(reason);
    // Release: pairs with the acquire in closed(). It never goes down.
    if (life_.load(std::memory_order_relaxed) < life) {
      life_.store(life, std::memory_order_release);
    }
    if (end_listener_ != nullptr) end_listener_->OnEnd();
  }
  Interrupt();
  // A forked child has the parent's descriptors too, and must not end the parent's connection.
  if (getpid() != owner_) return;
  // The peer's watch sees the end of file. Not close(): this side's watch still has the descriptor.
  if (life == kClosed) shutdown(established_.socket.get(), SHUT_RDWR);
  if (side_ == Side::kConnecting) FreeWriter();
}

absl::Status ShmConnection::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace locket::transport::internal
