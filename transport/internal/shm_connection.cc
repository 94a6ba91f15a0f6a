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
#include "locket/transport/internal/wait_protocol.h"

namespace locket::transport::internal {
namespace {

RingControl& ControlOf(const Established& established, Direction direction) {
  return established.segment->header().rings[direction];
}

std::atomic<uint32_t>& FarewellOf(const Established& established, Side side) {
  return established.segment->header().farewell[side == Side::kAccepting ? 0 : 1];
}

}  // namespace

ShmConnection::ShmConnection(Established established, Side side, SpinOptions spin)
    : established_(std::move(established)),
      side_(side),
      owner_(getpid()),
      spin_(spin),
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
  if (!watch.ok()) {
    CloseSocket(std::move(established.socket));
    return watch.status();
  }
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
  if (!life_.seems_open() || end_written()) return nullptr;
  if (size > max_record()) return nullptr;
  uint8_t* const room = writer_.TryReserve(size);
  if (room != nullptr) return room;
  if (writer_.broken()) {
    Close(absl::InternalError("the peer's ring head is not between the last one and the tail"));
  } else if (!established_.half_close && writer_.ReadsNoMore()) {
    Close(absl::InternalError("the peer reads no more, which was not agreed on"));
  }
  // A full ring beside a sleeping reader would stay full.
  Flush();
  return nullptr;
}

void ShmConnection::Commit(size_t size) {
  if (!life_.seems_open() || end_written()) return;
  writer_.Commit(size);
  WakeReader();
}

void ShmConnection::CommitMore(size_t size) {
  if (!life_.seems_open() || end_written()) return;
  writer_.Commit(size);
  look_due_ = true;
}

// Not else: a reader that is woken again and again without a record takes its peer for a hostile
// one.
void ShmConnection::Flush() {
  if (look_due_) WakeReader();
}

void ShmConnection::CloseWrite() {
  if (!established_.half_close || write_closed()) return;
  end_written_.store(true, std::memory_order_relaxed);  // relaxed: see end_written().
  writer_.CommitEnd();
  WakeReader();
}

bool ShmConnection::write_closed() const {
  return end_written() || closed() || (established_.half_close && writer_.ReadsNoMore());
}

void ShmConnection::WakeReader() {
  look_due_ = false;
  const WaitState slept = WaitProtocol::TakeReader(outgoing_, side_ == Side::kConnecting);
  if (slept == kParked) {
    FutexWakeShared(outgoing_.reader_state);
  } else if (slept == kParkedAtDoorbell) {
    RingDoorbell(established_.doorbell.get());
  }
}

ReadResult ShmConnection::TryReceive(Record* record) {
  // Before Peek(): a record that was committed before the peer's end is delivered.
  const Stage stage = life_.stage();
  // relaxed: this thread's own.
  if (stage == Stage::kClosed || reading_ended_.load(std::memory_order_relaxed)) {
    return ReadResult::kEnd;
  }
  switch (reader_.Peek(&record->data, &record->size)) {
    case RingReader::Peeked::kRecord:
      if (stage == Stage::kPeerGone && !MayFollowTheEnd()) return ReadResult::kEnd;
      return ReadResult::kRecord;
    case RingReader::Peeked::kNone:
      return stage == Stage::kOpen ? ReadResult::kEmpty : ReadResult::kEnd;
    case RingReader::Peeked::kEnd:
      if (!established_.half_close) break;
      end_read_.store(true, std::memory_order_relaxed);  // relaxed: orders nothing.
      return ReadResult::kEnd;
    case RingReader::Peeked::kBroken:
      break;
  }
  Close(absl::InternalError(absl::StrFormat(
      "the peer's record header %#x is none of a record of at most %d bytes", reader_.bad_word(),
      MaxRecordSize(established_.segment->geometry().ring_size))));
  return ReadResult::kEnd;
}

// A dead peer's records end within one lap of the ring. Words that a hostile one has left
// everywhere would be read lap after lap.
bool ShmConnection::MayFollowTheEnd() {
  if (last_head_ == 0) {
    last_head_ = reader_.head() + established_.segment->geometry().ring_size;
  }
  if (reader_.head() < last_head_) return true;
  Close(absl::InternalError("the peer left more records than its ring holds"));
  return false;
}

void ShmConnection::Release() {
  if (reading_ended_.load(std::memory_order_relaxed)) return;  // relaxed: this thread's own.
  if (reader_.Release()) WakeWriter(reader_.head());
}

void ShmConnection::WakeWriter(uint64_t head) {
  if (WaitProtocol::TakeWriter(incoming_, head)) FutexWakeShared(incoming_.writer_state);
}

void ShmConnection::CloseRead() {
  // relaxed, both: this thread's own.
  if (!established_.half_close || reading_ended_.load(std::memory_order_relaxed)) return;
  reading_ended_.store(true, std::memory_order_relaxed);
  WakeWriter(reader_.EndReading());
}

bool ShmConnection::ended_cleanly() const {
  // relaxed, both: they order nothing.
  if (end_read_.load(std::memory_order_relaxed)) return true;
  if (reading_ended_.load(std::memory_order_relaxed)) return false;
  // The watch has marked the peer as gone after it saw the socket's end.
  if (life_.stage() != Stage::kPeerGone) return false;
  const Side peer = side_ == Side::kConnecting ? Side::kAccepting : Side::kConnecting;
  // Acquire pairs with the release in SayFarewell().
  return FarewellOf(established_, peer).load(std::memory_order_acquire) == 1;
}

template <typename Ready>
WaitResult ShmConnection::Wait(std::atomic<uint32_t>& state, SpinTuner& tuner, Deadline deadline,
                               uint32_t interrupts, Ready ready) {
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
  Spin spin(tuner, spin_, spin_nanos_);
  do {
    if (done() || (spin.at_clock() && late())) {
      if (result == WaitResult::kReady) spin.Found();
      return result;
    }
  } while (spin.Continue());
  spin.BeforeSleep();
  int vain_wakes = 0;
  WaitProtocol::SleepUntil(
      state, [&] { return done() || late(); },
      [&] {
        const bool woken =
            FutexWaitTwo({&state, kParked}, {&life_.interrupts_word(), interrupts}, deadline);
        if (!woken || ready() || ++vain_wakes <= kMaxVainWakes) return;
        Close(absl::InternalError(absl::StrCat("the peer woke a wait more than ", kMaxVainWakes,
                                               " times without what it waited for")));
      });
  if (result == WaitResult::kReady) spin.Found();
  return result;
}

// The first moments of a wait for a record, and what a dense stream needs: one that comes record
// upon record without answers, where the last wait was over within kSoon rounds. A reader that
// stays on the writer's heels there takes each line from it before it is finished. So it lets the
// writer get ahead first, and then finds a batch; docs/design.md has what that gave. A round trip
// never waits for it.
bool ShmConnection::IsThereSoon() {
  constexpr int kSoon = 4;
  constexpr int kStreamPauses = 24;
  const uint64_t sent = writer_.position();
  const bool answered = std::exchange(sent_before_, sent) != sent;
  if (stream_ && !answered && !reader_.Ready()) {
    for (int i = 0; i < kStreamPauses; ++i) CpuPause();
  }
  for (int i = 0; i < kSoon; ++i) {
    stream_ = !answered;
    if (reader_.Ready()) return true;
    CpuPause();
  }
  stream_ = false;
  return false;
}

WaitResult ShmConnection::WaitReadable(Deadline deadline, uint32_t interrupts) {
  // relaxed: this thread's own.
  if (reading_ended_.load(std::memory_order_relaxed)) return WaitResult::kClosed;
  if (spin_nanos_ > 0 && IsThereSoon()) return WaitResult::kReady;
  return Wait(incoming_.reader_state, read_tuner_, deadline, interrupts,
              [this] { return reader_.Ready(); });
}

WaitResult ShmConnection::WaitWritable(size_t size, Deadline deadline, uint32_t interrupts) {
  if (end_written()) return WaitResult::kClosed;
  // Not the first head with room: a writer that fills every line as it becomes free asks the reader
  // for its head's line at every record.
  const uint64_t wanted = writer_.NextWake(writer_.RoomAt(size));
  WaitProtocol::WantHead(outgoing_, wanted);
  constexpr int kPausesBetweenLooks = 8;
  uint64_t head = 0;
  bool went_back = false;
  const WaitResult result = Wait(outgoing_.writer_state, write_tuner_, deadline, interrupts, [&] {
    if (closed()) return false;
    for (int i = 0; head != 0 && i < kPausesBetweenLooks; ++i) CpuPause();
    const uint64_t before = head;
    head = writer_.ReadersHead();
    went_back = went_back || head < before;
    return went_back || head >= wanted;
  });
  if (!went_back) {
    // A reader that reads no more has reached every head.
    return result == WaitResult::kReady && write_closed() ? WaitResult::kClosed : result;
  }
  Close(absl::InternalError("the peer's ring head went back while a writer waited for it"));
  return WaitResult::kClosed;
}

bool ShmConnection::ParkReader() {
  return WaitProtocol::Park(
      incoming_.reader_state, [this] { return Readable(); }, kParkedAtDoorbell);
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

void ShmConnection::SayFarewell() {
  if (getpid() != owner_) return;  // A forked child has no mapping, and nothing to say.
  // Release: pairs with the acquire in ended_cleanly().
  FarewellOf(established_, side_).store(1, std::memory_order_release);
}

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
  // A forked child has the parent's descriptors too, and must not end the parent's connection.
  // Nobody sleeps in it.
  if (getpid() != owner_) return;
  Interrupt();
  if (stage == Stage::kClosed) {
    SayFarewell();
    // The peer's watch sees the end of file. Not close(): this side's watch has the descriptor too.
    shutdown(established_.socket.get(), SHUT_RDWR);
  }
}

absl::Status ShmConnection::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace locket::transport::internal
