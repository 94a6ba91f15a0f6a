#include "locket/transport/internal/ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "locket/transport/internal/ring_memory.h"

namespace locket::transport::internal {
namespace {

class RingTest : public testing::Test {
 protected:
  bool Send(const std::string& bytes) {
    uint8_t* const room = writer_.TryReserve(bytes.size());
    if (room == nullptr) return false;
    memcpy(room, bytes.data(), bytes.size());
    writer_.Commit(bytes.size());
    return true;
  }

  std::string Receive() {
    const uint8_t* data;
    size_t size;
    switch (reader_.Peek(&data, &size)) {
      case RingReader::Peeked::kNone:
        return "<none>";
      case RingReader::Peeked::kEnd:
        return "<end>";
      case RingReader::Peeked::kBroken:
        return "<broken>";
      case RingReader::Peeked::kRecord:
        break;
    }
    std::string bytes(reinterpret_cast<const char*>(data), size);
    reader_.Release();
    return bytes;
  }

  // What a hostile writer puts where the reader polls next.
  void ForgeCommitWord(uint64_t position, uint64_t word) {
    memcpy(memory_.data() + position % memory_.size(), &word, sizeof(word));
  }

  RingMemory memory_{4096};
  RingWriter writer_{memory_.data(), memory_.size(), memory_.control()};
  RingReader reader_{memory_.data(), memory_.size(), memory_.control()};
};

TEST_F(RingTest, RecordsComeOutAsTheyWentIn) {
  EXPECT_EQ(Receive(), "<none>");
  EXPECT_TRUE(Send("first"));
  EXPECT_TRUE(Send(""));
  EXPECT_EQ(Receive(), "first");
  EXPECT_EQ(Receive(), "");
  EXPECT_EQ(Receive(), "<none>");
}

TEST_F(RingTest, AReservationMayShrinkAtItsCommit) {
  uint8_t* const room = writer_.TryReserve(1000);
  memset(room, 0xff, 1000);
  writer_.Commit(3);
  EXPECT_EQ(Receive(), "\xff\xff\xff");
  // The word behind the record is zero although old payload lay there.
  EXPECT_EQ(Receive(), "<none>");
}

TEST_F(RingTest, ARecordAcrossTheEndOfTheRingIsOneSpan) {
  const std::string big(writer_.max_record() - 100, 'b');
  for (int i = 0; i < 100; ++i) {
    const std::string bytes = big + std::to_string(i);
    ASSERT_TRUE(Send(bytes));
    ASSERT_EQ(Receive(), bytes);
  }
}

TEST_F(RingTest, OneLineStaysFreeSoThatZeroingNeverHitsAnUnreadHeader) {
  int sent = 0;
  while (Send(std::string(40, 'x'))) ++sent;
  EXPECT_EQ(sent, 4096 / 64 - 1);
  for (int i = 0; i < sent; ++i) ASSERT_EQ(Receive(), std::string(40, 'x'));
  EXPECT_EQ(Receive(), "<none>");
}

TEST_F(RingTest, RoomComesBackRecordByRecord) {
  while (Send(std::string(40, 'x'))) {
  }
  const uint64_t wanted = writer_.RoomAt(40);
  EXPECT_FALSE(writer_.ReaderReached(wanted));
  EXPECT_EQ(Receive(), std::string(40, 'x'));
  EXPECT_TRUE(writer_.ReaderReached(wanted));
  EXPECT_TRUE(Send("again"));
  EXPECT_FALSE(Send("full"));
}

TEST_F(RingTest, AFullRingsWriterIsWokenBeforeItsTail) {
  for (const size_t size : {size_t{0}, size_t{40}, size_t{500}, writer_.max_record()}) {
    while (Send(std::string(40, 'x'))) {
    }
    const uint64_t wake = writer_.NextWake(writer_.RoomAt(size));
    EXPECT_GE(wake, writer_.RoomAt(size));
    EXPECT_EQ(wake % (memory_.size() / 8), 0u);
    // As many records as are there bring the reader to it, the last of them alone over a border.
    bool looked = false;
    while (!writer_.ReaderReached(wake)) {
      const uint8_t* data;
      size_t received;
      ASSERT_EQ(reader_.Peek(&data, &received), RingReader::Peeked::kRecord);
      looked = reader_.Release();
    }
    EXPECT_TRUE(looked);
    EXPECT_NE(writer_.TryReserve(size), nullptr);
  }
}

TEST_F(RingTest, AReservationReplacedByALongerOrShorterOneLeavesNoOldPayload) {
  memset(writer_.TryReserve(1000), 0xff, 1000);
  memset(writer_.TryReserve(10), 0xff, 10);
  writer_.Commit(10);
  EXPECT_EQ(Receive(), std::string(10, '\xff'));
  EXPECT_EQ(Receive(), "<none>");
  memset(writer_.TryReserve(10), 0xff, 10);
  memset(writer_.TryReserve(900), 0xff, 900);
  writer_.Commit(100);
  EXPECT_EQ(Receive(), std::string(100, '\xff'));
  EXPECT_EQ(Receive(), "<none>");
}

TEST_F(RingTest, AnEmptyRingHasRoomAtHeadZero) {
  EXPECT_EQ(writer_.RoomAt(writer_.max_record()), 0u);
  EXPECT_TRUE(writer_.ReaderReached(0));
}

TEST_F(RingTest, TheLargestRecordTakesAQuarterOfTheRing) {
  EXPECT_EQ(RecordLength(writer_.max_record()), 4096u / 4);
}

TEST_F(RingTest, CommitWordsThatAreNoRecordAreRefused) {
  const uint64_t max = writer_.max_record();
  for (const uint64_t word : {
           uint64_t{1},                         // Not committed, and not zero.
           kCommitCommitted | (max + 1),        // More than a quarter of the ring.
           kCommitCommitted | kCommitSizeMask,  // The largest size that the bits hold.
           CommitWord(1) | (1u << 30),          // The bit that is zero.
           CommitWord(1) | kCommitMore,         // Flags that nobody negotiated.
           CommitWord(1) | kCommitDescriptors,
           CommitWord(1) | kCommitEnd,  // The end has no payload,
           kEndWord | kCommitMore,      // and no flags.
           kCommitEnd,
           CommitWord(1) | (uint64_t{1} << 35),
           CommitWord(1) | (uint64_t{1} << 63),
           ~uint64_t{0},
       }) {
    ForgeCommitWord(0, word);
    EXPECT_EQ(Receive(), "<broken>") << std::hex << word;
    EXPECT_EQ(reader_.bad_word(), word);
  }
  ForgeCommitWord(0, CommitWord(max));
  EXPECT_EQ(Receive().size(), max);
}

TEST_F(RingTest, HeadsThatTheReaderCannotHaveReachedBreakTheWriter) {
  for (const uint64_t head : {uint64_t{4096}, uint64_t{32}, ~uint64_t{1}, ~uint64_t{63}}) {
    RingMemory memory(4096);
    RingWriter writer(memory.data(), memory.size(), memory.control());
    while (writer.TryReserve(40) != nullptr) writer.Commit(40);
    EXPECT_FALSE(writer.broken());
    memory.control().head.store(head);
    EXPECT_EQ(writer.TryReserve(40), nullptr);
    EXPECT_TRUE(writer.broken()) << head;
  }
}

TEST_F(RingTest, TheEndComesAfterAllRecordsAndStays) {
  EXPECT_TRUE(Send("last"));
  writer_.CommitEnd();
  EXPECT_EQ(Receive(), "last");
  EXPECT_EQ(Receive(), "<end>");
  EXPECT_EQ(Receive(), "<end>");
}

TEST_F(RingTest, AFullRingHasRoomForTheEnd) {
  int sent = 0;
  while (Send(std::string(40, 'x'))) ++sent;
  writer_.CommitEnd();
  for (int i = 0; i < sent; ++i) ASSERT_EQ(Receive(), std::string(40, 'x'));
  EXPECT_EQ(Receive(), "<end>");
}

TEST_F(RingTest, AReaderThatReadsNoMoreGivesNoRoomAndBreaksNothing) {
  while (Send(std::string(40, 'x'))) {
  }
  EXPECT_FALSE(writer_.ReadsNoMore());
  reader_.EndReading();
  EXPECT_TRUE(writer_.ReadsNoMore());
  EXPECT_TRUE(writer_.ReaderReached(writer_.RoomAt(40)));
  EXPECT_FALSE(Send("y"));
  EXPECT_FALSE(writer_.broken());
}

TEST_F(RingTest, AHeadThatGoesBackBreaksTheWriter) {
  while (Send(std::string(40, 'x'))) {
  }
  Receive();
  Receive();
  EXPECT_TRUE(Send("y"));
  EXPECT_TRUE(Send("y"));
  memory_.control().head.store(64);
  EXPECT_FALSE(Send("y"));
  EXPECT_TRUE(writer_.broken());
}

// Would reveal: payload or the zeroed word seen before the commit word, space reused too early.
TEST_F(RingTest, TwoThreadsPassAMillionRecords) {
  constexpr uint32_t kRecords = 1000000;
  std::thread reading([&] {
    for (uint32_t i = 0; i < kRecords;) {
      const uint8_t* data;
      size_t size;
      if (reader_.Peek(&data, &size) == RingReader::Peeked::kNone) {
        std::this_thread::yield();
        continue;
      }
      uint32_t value;
      ASSERT_EQ(size, sizeof(value) + i % 97);
      memcpy(&value, data, sizeof(value));
      ASSERT_EQ(value, i);
      if (size > sizeof(value)) {
        ASSERT_EQ(data[size - 1], static_cast<uint8_t>(i));
      }
      reader_.Release();
      ++i;
    }
  });
  for (uint32_t i = 0; i < kRecords;) {
    const size_t size = sizeof(i) + i % 97;
    uint8_t* const room = writer_.TryReserve(size);
    if (room == nullptr) {
      std::this_thread::yield();
      continue;
    }
    memset(room, static_cast<int>(i & 0xff), size);
    memcpy(room, &i, sizeof(i));
    writer_.Commit(size);
    ++i;
  }
  reading.join();
}

}  // namespace
}  // namespace locket::transport::internal
