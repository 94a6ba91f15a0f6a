// The records of stream sockets: what is filled and read in place.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

#include "locket/transport/internal/stream_testing.h"
#include "locket/transport/stream_socket.h"

namespace locket::transport {
namespace {

using namespace internal;  // stream_testing.h

class StreamRecordsTest : public testing::TestWithParam<Here> {};

INSTANTIATE_TEST_SUITE_P(All, StreamRecordsTest,
                         testing::Values(Here::kPair, Here::kConnecting, Here::kAccepting), NameOf);

TEST_P(StreamRecordsTest, SmallWritesBecomeOneRecord) {
  Ends ends = Make(GetParam());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(ends.here->Write("x", 1).ok());
  ASSERT_TRUE(ends.here->Flush().ok());
  auto record = ends.there->Receive(Soon());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->size(), 100u);
}

TEST_P(StreamRecordsTest, CloseFromAnotherThreadEndsBlockedRecordCalls) {
  Ends ends = Make(GetParam(), SmallRing());
  Blocked receiving([&] { return ends.here->Receive().status(); });
  Blocked reserving([&] {
    for (;;) {
      const auto room = ends.here->Reserve(ends.here->max_record());
      if (!room.ok()) return room.status();
      if (absl::Status sent = ends.here->Commit(0); !sent.ok()) return sent;
    }
  });
  receiving.WaitUntilAsleep();
  reserving.WaitUntilAsleep();
  ends.here->Close();
  EXPECT_TRUE(absl::IsCancelled(receiving.Result()));
  EXPECT_TRUE(absl::IsCancelled(reserving.Result()));
}

TEST_P(StreamRecordsTest, RecordsCrossWithoutCopies) {
  Ends ends = Make(GetParam());
  const auto room = ends.here->Reserve(100);
  ASSERT_TRUE(room.ok()) << room.status();
  memcpy(*room, "a record", 8);
  ASSERT_TRUE(ends.here->Commit(8).ok());
  ASSERT_TRUE(ends.here->Reserve(0).ok());
  ASSERT_TRUE(ends.here->Commit(0).ok());

  auto record = ends.there->Receive(Soon());
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(record->data()), record->size()), "a record");
  // One record at a time.
  char byte;
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.there->Receive().status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.there->Read(&byte, 1).status()));
  record->Release();
  EXPECT_FALSE(record->valid());
  auto empty = ends.there->TryReceive();
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_TRUE(empty->valid());
  EXPECT_EQ(empty->size(), 0u);
  empty->Release();
  auto none = ends.there->TryReceive();
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->valid());
  EXPECT_FALSE(ends.there->end_of_file());
  ends.here->Close();
  auto end = ends.there->Receive(Soon());
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_FALSE(end->valid());
  EXPECT_TRUE(ends.there->end_of_file());
}

TEST_P(StreamRecordsTest, ARecordAboveTheMaximumIsRefusedWithBothNumbersAndTheConnectionLives) {
  SocketOptions options;
  options.max_record = 1000;
  Ends ends = Make(GetParam(), options);
  EXPECT_EQ(ends.here->max_record(), 1000u);
  const absl::Status status = ends.here->Reserve(1001).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_NE(status.message().find("1001"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("1000"), absl::string_view::npos) << status;
  ASSERT_TRUE(ends.here->Reserve(1000).ok());
  ASSERT_TRUE(ends.here->Commit(1000).ok());
  EXPECT_EQ(Receive(*ends.there, 1000).size(), 1000u);
}

TEST_P(StreamRecordsTest, BytesAndRecordsShareOneStream) {
  Ends ends = Make(GetParam());
  ASSERT_TRUE(ends.here->Write("buffered ", 9).ok());
  const auto room = ends.here->Reserve(6);
  ASSERT_TRUE(room.ok()) << room.status();
  memcpy(*room, "record", 6);
  ASSERT_TRUE(ends.here->Commit(6).ok());
  Send(*ends.here, " more");
  EXPECT_EQ(Receive(*ends.there, 11), "buffered re");
  auto rest = ends.there->Receive(Soon());
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(rest->data()), rest->size()), "cord");
  rest->Release();
  EXPECT_EQ(Receive(*ends.there, 5), " more");
}

TEST_P(StreamRecordsTest, ACommitNeedsItsReservation) {
  Ends ends = Make(GetParam());
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.here->Commit(0)));
  ASSERT_TRUE(ends.here->Reserve(10).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(ends.here->Commit(11)));
  ASSERT_TRUE(ends.here->Write("x", 1).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.here->Commit(10)));
  ASSERT_TRUE(ends.here->Flush().ok());
  EXPECT_EQ(Receive(*ends.there, 1), "x");
  ASSERT_TRUE(ends.here->Reserve(10).ok());
  ASSERT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.here->Commit(10)));
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.here->Reserve(10).status()));
  EXPECT_EQ(ReceiveAll(*ends.there), "");
}

TEST_P(StreamRecordsTest, ARecordInUseOutlivesItsSocketAndThePeers) {
  Ends ends = Make(GetParam());
  Send(*ends.there, "in use");
  auto record = ends.here->Receive(Soon());
  ASSERT_TRUE(record.ok()) << record.status();
  ReceivedRecord moved;
  moved = *std::move(record);
  EXPECT_FALSE(record->valid());
  ends.here->Close();
  EXPECT_TRUE(absl::IsCancelled(ends.here->Receive().status()));
  ends.here.reset();
  ends.there.reset();
  ASSERT_TRUE(moved.valid());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(moved.data()), moved.size()), "in use");
}

TEST_P(StreamRecordsTest, AReservationStaysWritableAfterClose) {
  Ends ends = Make(GetParam());
  const auto room = ends.here->Reserve(100);
  ASSERT_TRUE(room.ok()) << room.status();
  ends.here->Close();
  memset(*room, 1, 100);
  EXPECT_TRUE(absl::IsCancelled(ends.here->Commit(100)));
  EXPECT_EQ(ReceiveAll(*ends.there), "");
}

TEST_P(StreamRecordsTest, TheRingHoldsAsManyRecordsInFlightAsWereAskedFor) {
  SocketOptions options;
  options.capacity = 4096;
  options.max_record = 2000;
  options.records_in_flight = 20;
  Ends ends = Make(GetParam(), options);
  EXPECT_EQ(ends.here->max_record(), 2000u);
  for (int i = 0; i < 20; ++i) {
    const auto room = ends.here->TryReserve(2000);
    ASSERT_TRUE(room.ok()) << room.status();
    ASSERT_NE(*room, nullptr) << i;
    ASSERT_TRUE(ends.here->Commit(2000).ok());
  }
}

}  // namespace
}  // namespace locket::transport
