#include "locket/transport/internal/shm_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locket/transport/internal/close_aside.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/futex.h"
#include "locket/transport/internal/spin.h"
#include "locket/transport/internal/wait_protocol.h"

namespace locket::transport::internal {
namespace {

RingControl& ControlOf(const Established& established, Direction direction) {
  return established.segment->header().rings[direction];
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
      (*watch)->Add(connection->established_.socket.get(),
                    connection->established_.peer_pidfd.get(), connection.get());
  if (!id.ok()) return id.status();
  connection->watch_ = *watch;
  connection->watch_id_ = *id;
  return connection;
}

ShmConnection::~ShmConnection() {
  if (watch_ != nullptr) watch_->Remove(watch_id_);
  Close(absl::CancelledError("the connection was destroyed"));
  if (getpid() == owner_) CloseSocket(std::move(established_.socket));
}

uint8_t* ShmConnection::TryReserve(size_t size) {
  if (!life_.seems_open()) return nullptr;
  if (size > max_record()) return nullptr;
  uint8_t* const room = writer_.TryReserve(size);
  if (room == nullptr && writer_.broken()) {
    Close(absl::InternalError("the peer's ring head is not between the last one and the tail"));
  }
  return room;
}

void ShmConnection::Commit(size_t size) {
  if (!life_.seems_open()) return;
  writer_.Commit(size);
  if (WaitProtocol::TakeReader(outgoing_)) WakePeersReader();
}

void ShmConnection::WakePeersReader() {
  if (side_ == Side::kConnecting) {
    RingDoorbell(established_.doorbell.get());
  } else {
    FutexWakeShared(outgoing_.reader_state);
  }
}

ReadResult ShmConnection::TryReceive(Record* record) {
  // Before Peek(): a record that was committed before the peer's end is delivered.
  const Stage stage = life_.stage();
  if (stage == Stage::kClosed) return ReadResult::kEnd;
  switch (reader_.Peek(&record->data, &record->size)) {
    case RingReader::Peeked::kRecord:
      return ReadResult::kRecord;
    case RingReader::Peeked::kNone:
      return stage == Stage::kOpen ? ReadResult::kEmpty : ReadResult::kEnd;
    case RingReader::Peeked::kBroken:
      break;
  }
  Close(absl::InternalError(absl::StrFormat(
      "the peer's record header %#x is none of a record of at most %d bytes", reader_.bad_word(),
      MaxRecordSize(established_.segment->geometry().ring_size))));
  return ReadResult::kEnd;
}

void ShmConnection::Release() {
  if (WaitProtocol::TakeWriter(incoming_, reader_.Release())) {
    FutexWakeShared(incoming_.writer_state);
  }
}

template <typename Ready>
WaitResult ShmConnection::Wait(std::atomic<uint32_t>& state, Deadline deadline, uint32_t interrupts,
                               Ready ready) {
  WaitResult result;
  const auto done = [&] {
    if (ready()) {
      result = WaitResult::kReady;
      return true;
    }
    // The count before the stage: an end that it tells of is then seen.
    const bool interrupted = life_.interrupts() != interrupts;
    // closed() too: the caller may have read `interrupts` after the end.
    if (closed()) {
      // What was committed before the end comes first.
      result = ready() ? WaitResult::kReady : WaitResult::kClosed;
      return true;
    }
    result = WaitResult::kInterrupted;
    return interrupted;
  };
  const auto late = [&] {
    result = WaitResult::kDeadline;
    return deadline.passed();
  };
  {
    Spin spin(spin_nanos_);
    do {
      if (done() || (spin.at_clock() && late())) return result;
    } while (spin.Continue());
  }
  WaitProtocol::SleepUntil(
      state, [&] { return done() || late(); },
      [&] {
        FutexWaitTwo({&state, kParked}, {&life_.interrupts_word(), interrupts}, deadline);
      });
  return result;
}

WaitResult ShmConnection::WaitReadable(Deadline deadline, uint32_t interrupts) {
  return Wait(incoming_.reader_state, deadline, interrupts, [this] { return reader_.Ready(); });
}

WaitResult ShmConnection::WaitWritable(size_t size, Deadline deadline, uint32_t interrupts) {
  const uint64_t wanted = writer_.RoomAt(size);
  WaitProtocol::WantHead(outgoing_, wanted);
  return Wait(outgoing_.writer_state, deadline, interrupts,
              [this, wanted] { return !closed() && writer_.ReaderReached(wanted); });
}

bool ShmConnection::ParkReader() {
  return WaitProtocol::Park(incoming_.reader_state, [this] { return Readable(); });
}

void ShmConnection::UnparkReader() { WaitProtocol::Unpark(incoming_.reader_state); }

void ShmConnection::SetEndListener(EndListener* listener) {
  MutexLock lock(mutex_);
  end_listener_ = listener;
  if (listener != nullptr && closed()) listener->OnEnd();
}

void ShmConnection::Interrupt() {
  life_.CountInterrupt();
  FutexWakeLocal(life_.interrupts_word());
}

void ShmConnection::Close(absl::Status reason) { End(Stage::kClosed, std::move(reason)); }

void ShmConnection::OnPeerGone(absl::Status reason) {
  // Bytes that nobody expects are a violation: no record of this peer is to be trusted.
  const bool violated = absl::IsInternal(reason);
  End(violated ? Stage::kClosed : Stage::kPeerGone, std::move(reason));
}

void ShmConnection::End(Stage stage, absl::Status reason) {
  {
    MutexLock lock(mutex_);
    if (status_.ok()) status_ = std::move(reason);
    life_.RaiseTo(stage);
    if (end_listener_ != nullptr) end_listener_->OnEnd();
  }
  Interrupt();
  // A forked child has the parent's descriptors too, and must not end the parent's connection.
  if (getpid() != owner_) return;
  // The peer's watch sees the end of file. Not close(): this side's watch still has the descriptor.
  if (stage == Stage::kClosed) shutdown(established_.socket.get(), SHUT_RDWR);
}

absl::Status ShmConnection::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace locket::transport::internal
