// One end of a connection whose peer writes into the segment whatever the input says, between any
// two calls of the victim: ring reader, ring writer, the waits, and the wait set.
#include <fcntl.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "locket/tools/fuzz_input.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/layout.h"
#include "locket/transport/internal/shm_connection.h"
#include "locket/transport/wait_set.h"

namespace locket::transport {
namespace {

using fuzz::Input;
using fuzz::Require;
using internal::Direction;
using internal::Segment;
using internal::ShmConnection;
using internal::Side;
using internal::UniqueFd;

constexpr size_t kRingSize = 4096;

// The victim's end, and the peer's bare hands on the same mapping.
class Scene {
 public:
  Scene(Side side, bool half_close)
      : half_close_(half_close),
        incoming_(side == Side::kAccepting ? internal::kToAccepting : internal::kToConnecting),
        outgoing_(side == Side::kAccepting ? internal::kToConnecting : internal::kToAccepting),
        segment_(*Segment::Create(kRingSize)) {
    int sockets[2];
    Require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0,
            "no socket pair");
    internal::Established established;
    established.socket.Reset(sockets[0]);
    peer_socket_.Reset(sockets[1]);
    established.doorbell = *internal::CreateDoorbell();
    doorbell_.Reset(fcntl(established.doorbell.get(), F_DUPFD_CLOEXEC, 0));
    established.segment = segment_;
    established.half_close = half_close;
    established.peer = {getpid(), geteuid(), getegid()};
    SpinOptions spin;
    spin.limit = std::chrono::nanoseconds(0);
    connection_ = *ShmConnection::Create(std::move(established), side, spin);
    if (side != Side::kAccepting) return;
    set_ = *WaitSet::Create();
    Require(set_->Add(connection_.get(), connection_.get()).ok(), "Add() failed");
  }

  ~Scene() {
    if (set_ != nullptr) set_->Remove(connection_.get());
  }

  // ---- What the peer does

  void WriteAnywhere(uint64_t offset, const std::string& bytes) {
    // The header, then both rings, as they lie in the memory.
    const size_t header = segment_->geometry().ring_offset;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint64_t at = (offset + i) % segment_->geometry().segment_size();
      uint8_t* const byte =
          at < header
              ? reinterpret_cast<uint8_t*>(&segment_->header()) + at
              : segment_->ring(static_cast<Direction>((at - header) / kRingSize)) + at % kRingSize;
      *byte = static_cast<uint8_t>(bytes[i]);
    }
  }

  void WriteCommitWord(uint64_t word) {
    memcpy(segment_->ring(incoming_) + tail_ % kRingSize, &word, sizeof(word));
  }

  // A record by the book; its payload is whatever lies there.
  void CommitHonestly(size_t size) {
    size %= internal::MaxRecordSize(kRingSize) + 1;
    const uint64_t next = tail_ + internal::RecordLength(size);
    memset(segment_->ring(incoming_) + next % kRingSize, 0, sizeof(uint64_t));
    WriteCommitWord(internal::CommitWord(size));
    tail_ = next;
  }

  // The head by the book, or `off` bytes beside it.
  void ReleaseHonestly(int8_t off) {
    control(outgoing_).head.store(sent_ + static_cast<uint64_t>(int64_t{off}));
  }

  // One direction ends alone, by its writer or by its reader: a violation where that was not agreed
  // on.
  void End(bool as_writer) {
    if (as_writer) return WriteCommitWord(internal::kEndWord);
    control(outgoing_).head.store(internal::kReadsNoMore);
  }

  void Ring() { internal::RingDoorbell(doorbell_.get()); }

  internal::RingControl& control(Direction direction) {
    return segment_->header().rings[direction];
  }
  Direction incoming() const { return incoming_; }
  Direction outgoing() const { return outgoing_; }

  // ---- What the victim does

  void Receive(bool release) {
    Record record;
    switch (connection_->TryReceive(&record)) {
      case ReadResult::kRecord: {
        const uint8_t* const ring = segment_->ring(incoming_);
        Require(record.data >= ring && record.data < ring + kRingSize, "a record outside the ring");
        Require(record.size <= connection_->max_record(), "a record that is too large");
        const volatile uint8_t* const bytes = record.data;
        for (size_t i = 0; i < record.size; ++i) static_cast<void>(bytes[i]);
        if (release) connection_->Release();
        break;
      }
      case ReadResult::kEmpty:
        break;
      case ReadResult::kEnd:
        Require(connection_->closed() || half_close_, "an end of an open connection");
        Require(!connection_->closed() || !connection_->status().ok(), "an end without a reason");
        break;
    }
  }

  void Send(size_t size) {
    size %= connection_->max_record() + 2;
    uint8_t* const room = connection_->TryReserve(size);
    if (room == nullptr) return;
    Require(size <= connection_->max_record(), "room for more than a record");
    const uint8_t* const ring = segment_->ring(outgoing_);
    Require(room >= ring && room < ring + kRingSize, "room outside the ring");
    memset(room, 0xa5, size);
    connection_->Commit(size);
    sent_ += internal::RecordLength(size);
  }

  void EndVictims(uint8_t what) {
    if ((what & 1) != 0) connection_->CloseWrite();
    if ((what & 2) != 0) connection_->CloseRead();
    Require(half_close_ || !connection_->ended_cleanly() || connection_->closed(),
            "a clean end of an open connection");
  }

  void Wait(size_t size) {
    const Deadline past = Deadline::AtNanos(1);
    connection_->WaitWritable(size % (connection_->max_record() + 1), past,
                              connection_->interrupts());
    if (set_ != nullptr) {
      void* const ready = set_->Wait(past);
      Require(ready == nullptr || ready == connection_.get(), "a tag that nobody gave");
    } else {
      connection_->WaitReadable(past, connection_->interrupts());
    }
  }

 private:
  const bool half_close_;
  const Direction incoming_;
  const Direction outgoing_;
  const std::shared_ptr<Segment> segment_;
  UniqueFd peer_socket_;
  UniqueFd doorbell_;
  std::unique_ptr<WaitSet> set_;
  std::unique_ptr<ShmConnection> connection_;
  uint64_t tail_ = 0;  // Where an honest peer would write next.
  uint64_t sent_ = 0;  // How far the victim has written.
};

void Step(Scene& scene, Input& input) {
  switch (input.Take<uint8_t>() % 13) {
    case 0: {
      const auto offset = input.Take<uint32_t>();
      const auto size = input.Take<uint8_t>();
      return scene.WriteAnywhere(offset, input.TakeBytes(size));
    }
    case 1:
      return scene.WriteCommitWord(input.Take<uint64_t>());
    case 2:
      return scene.CommitHonestly(input.Take<uint16_t>());
    case 3:
      return scene.ReleaseHonestly(input.Take<int8_t>());
    case 4:
      return scene.control(scene.outgoing()).reader_state.store(input.Take<uint8_t>());
    case 5:
      return scene.control(scene.incoming()).writer_state.store(input.Take<uint8_t>());
    case 6:
      return scene.control(scene.incoming()).wanted_head.store(input.Take<uint64_t>());
    case 7:
      return scene.Ring();
    case 8:
      return scene.Receive((input.Take<uint8_t>() & 1) == 0);
    case 9:
      return scene.Send(input.Take<uint16_t>());
    case 10:
      return scene.Wait(input.Take<uint16_t>());
    case 11:
      return scene.End(/*as_writer=*/(input.Take<uint8_t>() & 1) != 0);
    case 12:
      return scene.EndVictims(input.Take<uint8_t>());
  }
}

}  // namespace
}  // namespace locket::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using locket::transport::internal::Side;
  locket::fuzz::Input input(data, size);
  const auto kind = input.Take<uint8_t>();
  locket::transport::Scene scene((kind & 1) != 0 ? Side::kConnecting : Side::kAccepting,
                                 /*half_close=*/(kind & 2) != 0);
  while (!input.empty()) Step(scene, input);
  return 0;
}
