// One end of a connection, and its peer in the test's bare hands.
#include "locket/transport/internal/shm_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/futex.h"
#include "locket/transport/internal/segment.h"

namespace locket::transport::internal {
namespace {

constexpr uint64_t kEmptyRecord = CommitWord(0);

// The connection, and what its peer has of it.
struct BareEnd {
  explicit BareEnd(Side side) : side(side) {
    segment = *Segment::Create(4096);
    EXPECT_TRUE(segment->SealForGood().ok());
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
    peers_socket.Reset(sockets[1]);
    doorbell = *CreateDoorbell();
    Established established;
    established.socket.Reset(sockets[0]);
    established.doorbell.Reset(dup(doorbell.get()));
    established.segment = segment;
    connection = *ShmConnection::Create(std::move(established), side, {});
  }

  RingControl& outgoing() {
    return segment->header().rings[side == Side::kConnecting ? kToAccepting : kToConnecting];
  }
  RingControl& incoming() {
    return segment->header().rings[side == Side::kConnecting ? kToConnecting : kToAccepting];
  }

  // How often the doorbell was rung since the last call: it takes back as many as are missing.
  uint64_t Rings() {
    const uint64_t one = 1;
    uint64_t count = 0;
    while (write(doorbell.get(), &one, sizeof(one)) == sizeof(one)) ++count;
    return count;
  }

  const Side side;
  std::shared_ptr<Segment> segment;
  UniqueFd peers_socket;
  UniqueFd doorbell;
  std::unique_ptr<ShmConnection> connection;
};

TEST(ShmConnectionTest, ACommitWakesTheReaderWhereItSleeps) {
  struct Case {
    uint32_t state;
    uint32_t after;
    uint64_t rings;
  };
  BareEnd connecting(Side::kConnecting);
  for (const Case& each : {
           Case{kRunning, kRunning, 0},
           Case{kParked, kRung, 0},
           Case{kRung, kRung, 0},
           Case{kParkedAtDoorbell, kRung, 1},
           Case{4, 4, 0},
           Case{~0u, ~0u, 0},
       }) {
    SCOPED_TRACE(each.state);
    connecting.outgoing().reader_state.store(each.state);
    ASSERT_NE(connecting.connection->TryReserve(0), nullptr);
    connecting.connection->Commit(0);
    EXPECT_EQ(connecting.outgoing().reader_state.load(), each.after);
    EXPECT_EQ(connecting.Rings(), each.rings);
  }
}

// Would let a client block its server in a call on the doorbell.
TEST(ShmConnectionTest, TheAcceptingSideNeverRings) {
  BareEnd accepting(Side::kAccepting);
  for (const uint32_t state : {0, 1, 2, 3, 4}) {
    accepting.outgoing().reader_state.store(state);
    ASSERT_NE(accepting.connection->TryReserve(0), nullptr);
    accepting.connection->Commit(0);
    EXPECT_EQ(accepting.outgoing().reader_state.load(), state == kParked ? kRung : state);
    EXPECT_EQ(accepting.Rings(), 0u);
  }
}

// Would let a peer hold a writer until its deadline, and go on afterwards.
TEST(ShmConnectionTest, AHeadThatGoesBackEndsTheConnectionOfAWaitingWriter) {
  BareEnd connecting(Side::kConnecting);
  while (connecting.connection->TryReserve(0) != nullptr) connecting.connection->Commit(0);
  RingControl& ring = connecting.outgoing();
  ring.head.store(128);
  std::thread writing([&] {
    EXPECT_EQ(connecting.connection->WaitWritable(connecting.connection->max_record(),
                                                  Deadline::After(std::chrono::seconds(10)),
                                                  connecting.connection->interrupts()),
              WaitResult::kClosed);
  });
  while (ring.writer_state.load() != kParked) std::this_thread::yield();
  ring.head.store(64);
  FutexWakeShared(ring.writer_state);
  writing.join();
  EXPECT_EQ(connecting.connection->status(),
            absl::InternalError("the peer's ring head went back while a writer waited for it"));
}

// Would reveal a writer that sleeps for ever: a reader looks for it at the borders of an eighth
// only.
TEST(ShmConnectionTest, AWaitingWriterIsWokenAtTheFirstBorderWithRoom) {
  BareEnd accepting(Side::kAccepting);
  RingControl& ring = accepting.incoming();
  ring.writer_state.store(kParked);
  ring.wanted_head.store(512);
  for (uint64_t head = 64; head <= 512; head += 64) {
    memcpy(accepting.segment->ring(kToAccepting) + head - 64, &kEmptyRecord, sizeof(kEmptyRecord));
    Record record;
    ASSERT_EQ(accepting.connection->TryReceive(&record), ReadResult::kRecord);
    EXPECT_EQ(ring.writer_state.load(), kParked) << head;
    accepting.connection->Release();
    EXPECT_EQ(ring.head.load(), head);
  }
  EXPECT_EQ(ring.writer_state.load(), kRung);
}

TEST(ShmConnectionTest, CommitMoreLeavesASleepingReaderToTheNextCommitFlushOrFullRing) {
  BareEnd connecting(Side::kConnecting);
  RingControl& ring = connecting.outgoing();
  const auto commit_more = [&] {
    ring.reader_state.store(kParkedAtDoorbell);
    ASSERT_NE(connecting.connection->TryReserve(0), nullptr);
    connecting.connection->CommitMore(0);
    EXPECT_EQ(connecting.Rings(), 0u);
  };
  commit_more();
  ASSERT_NE(connecting.connection->TryReserve(0), nullptr);
  connecting.connection->Commit(0);
  EXPECT_EQ(connecting.Rings(), 1u);
  commit_more();
  connecting.connection->Flush();
  EXPECT_EQ(connecting.Rings(), 1u);
  commit_more();
  while (connecting.connection->TryReserve(0) != nullptr) connecting.connection->CommitMore(0);
  EXPECT_EQ(connecting.Rings(), 1u);
}

// Would reveal a writer whose flushes, or vain attempts in a full ring, end its connection: the
// reader counts wake-ups without a record.
TEST(ShmConnectionTest, WithoutANewRecordNeitherAFlushNorAFullRingWakesTheReader) {
  BareEnd connecting(Side::kConnecting);
  RingControl& ring = connecting.outgoing();
  ring.reader_state.store(kParkedAtDoorbell);
  connecting.connection->Flush();
  EXPECT_EQ(connecting.Rings(), 0u);
  while (connecting.connection->TryReserve(0) != nullptr) connecting.connection->Commit(0);
  EXPECT_EQ(connecting.Rings(), 1u);
  ring.reader_state.store(kParkedAtDoorbell);
  EXPECT_EQ(connecting.connection->TryReserve(0), nullptr);
  connecting.connection->Flush();
  EXPECT_EQ(connecting.Rings(), 0u);
  EXPECT_EQ(ring.reader_state.load(), kParkedAtDoorbell);
}

// Would reveal a reader that goes round and round in a ring which its dead peer has filled with
// words.
TEST(ShmConnectionTest, TheRecordsOfADeadPeerEndWithinALap) {
  BareEnd accepting(Side::kAccepting);
  for (size_t at = 0; at < 4096; at += 64) {
    memcpy(accepting.segment->ring(kToAccepting) + at, &kEmptyRecord, sizeof(kEmptyRecord));
  }
  accepting.peers_socket.Reset();
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (!accepting.connection->closed() && !deadline.passed()) std::this_thread::yield();
  ASSERT_TRUE(accepting.connection->closed());
  Record record;
  int records = 0;
  while (records < 1000 && accepting.connection->TryReceive(&record) == ReadResult::kRecord) {
    accepting.connection->Release();
    ++records;
  }
  EXPECT_EQ(records, 64);
  EXPECT_EQ(accepting.connection->TryReceive(&record), ReadResult::kEnd);
}

TEST(ShmConnectionTest, TheAcceptingReaderSaysWhereItSleeps) {
  BareEnd accepting(Side::kAccepting);
  ASSERT_TRUE(accepting.connection->ParkReader());
  EXPECT_EQ(accepting.incoming().reader_state.load(), kParkedAtDoorbell);
  accepting.connection->UnparkReader();
  EXPECT_EQ(accepting.incoming().reader_state.load(), kRunning);
}

}  // namespace
}  // namespace locket::transport::internal
