// The bytes and the ends of stream sockets, as their users see them: in one process, as a pair and
// over a listener, from either end. Records: stream_records_test.cc. Two processes:
// tests/stream_process_test.cc.
#include "locket/transport/stream_socket.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/transport/internal/stream_testing.h"

namespace locket::transport {
namespace {

using namespace internal;  // stream_testing.h

class StreamSocketTest : public testing::TestWithParam<Here> {};

INSTANTIATE_TEST_SUITE_P(All, StreamSocketTest,
                         testing::Values(Here::kPair, Here::kConnecting, Here::kAccepting), NameOf);

TEST_P(StreamSocketTest, WhatIsWrittenIsReadOnceItIsFlushed) {
  Ends ends = Make(GetParam());
  for (const char* text : {"one ", "two ", "three"}) {
    ASSERT_TRUE(ends.here->Write(text, strlen(text)).ok());
  }
  EXPECT_EQ(ReadNow(*ends.there), "<empty>");
  ASSERT_TRUE(ends.here->Flush().ok());
  EXPECT_EQ(ReadNow(*ends.there), "one two three");
  EXPECT_EQ(ReadNow(*ends.there), "<empty>");
}

TEST_P(StreamSocketTest, ALargeWriteIsSentWithoutAFlushButForItsRest) {
  Ends ends = Make(GetParam());
  const std::string data = Data(100'000);
  ASSERT_TRUE(ends.here->Write(data.data(), data.size()).ok());
  const std::string sent = Receive(*ends.there, 90'000);
  ASSERT_TRUE(ends.here->Flush().ok());
  EXPECT_EQ(sent + Receive(*ends.there, 10'000), data);
}

TEST_P(StreamSocketTest, DataOfAnySizeCrossesARingOfAnySizeInBothDirectionsAtOnce) {
  for (const size_t ring : {size_t{4096}, size_t{65536}}) {
    for (const size_t size : {size_t{0}, size_t{1}, ring - 1, ring, ring + 1, 10 * ring}) {
      SocketOptions options;
      options.capacity = ring;
      Ends ends = Make(GetParam(), options);
      const std::string data = Data(size);
      std::thread sending([&] {
        Send(*ends.there, data);
        EXPECT_TRUE(ends.there->Shutdown(ShutdownHow::kWrite).ok());
      });
      std::thread reading([&] { EXPECT_TRUE(ReceiveAll(*ends.there) == data) << size; });
      std::thread answering([&] { EXPECT_TRUE(ReceiveAll(*ends.here) == data) << size; });
      Send(*ends.here, data);
      EXPECT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite).ok());
      sending.join();
      reading.join();
      answering.join();
    }
  }
}

// Would reveal: bytes lost, repeated or reordered where a side sleeps and is woken, in 8,000

// records through a ring that holds three of them.

TEST_P(StreamSocketTest, ALongStreamCrossesARingOf4KiB) {
  Ends ends = Make(GetParam(), SmallRing());
  const std::string piece = Data(999'983);  // A prime, so that pieces and records never coincide.
  constexpr size_t kTotal = size_t{8} << 20;
  std::thread sending([&] {
    for (size_t sent = 0; sent < kTotal;) {
      const size_t size = std::min(piece.size(), kTotal - sent);
      const auto written = ends.here->Write(piece.data(), size, Soon());
      ASSERT_TRUE(written.ok()) << written.status();
      sent += *written;
    }
    ASSERT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite, Soon()).ok());
  });
  std::vector<char> bytes(100'000);
  size_t total = 0;
  bool right = true;
  for (;;) {
    const auto got = ends.there->Read(bytes.data(), bytes.size(), Soon());
    ASSERT_TRUE(got.ok()) << got.status();
    if (*got == 0) break;
    for (size_t done = 0; done < *got;) {
      const size_t at = (total + done) % piece.size();
      const size_t size = std::min(*got - done, piece.size() - at);
      right = right && memcmp(bytes.data() + done, piece.data() + at, size) == 0;
      done += size;
    }
    total += *got;
  }
  sending.join();
  EXPECT_TRUE(right);
  EXPECT_EQ(total, kTotal);
}

TEST_P(StreamSocketTest, TryWriteTakesNothingWhenAllIsFullAndLosesNothing) {
  Ends ends = Make(GetParam(), SmallRing());
  const std::string data = Data(100'000);
  std::string received;
  size_t taken = 0;
  bool full = false;
  while (received.size() < data.size()) {
    for (;;) {
      const auto put =
          ends.here->TryWrite(data.data() + taken, std::min<size_t>(700, data.size() - taken));
      ASSERT_TRUE(put.ok()) << put.status();
      if (*put == 0) break;
      taken += *put;
    }
    full = full || taken < data.size();
    const auto flushed = ends.here->TryFlush();
    ASSERT_TRUE(flushed.ok()) << flushed.status();
    received += ReadNow(*ends.there);
  }
  EXPECT_TRUE(full);
  EXPECT_TRUE(received == data);
}

TEST_P(StreamSocketTest, TryFlushSaysThatTheRingIsFull) {
  Ends ends = Make(GetParam(), SmallRing());
  const std::string data = Data(100'000);
  const auto taken = ends.here->TryWrite(data.data(), data.size());
  ASSERT_TRUE(taken.ok());
  ASSERT_LT(*taken, data.size());
  EXPECT_FALSE(*ends.here->TryFlush());
  EXPECT_EQ(*ends.here->TryWrite("x", 1), 0u);
  std::string received = ReadNow(*ends.there);
  EXPECT_TRUE(*ends.here->TryFlush());
  received += Receive(*ends.there, *taken - received.size());
  EXPECT_TRUE(received == data.substr(0, *taken));
}

TEST_P(StreamSocketTest, OneDirectionEndsAndTheOtherGoesOn) {
  Ends ends = Make(GetParam());
  ASSERT_TRUE(ends.here->Write("request", 7).ok());
  ASSERT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite).ok());
  EXPECT_EQ(ReceiveAll(*ends.there), "request");
  EXPECT_TRUE(ends.there->end_of_file());
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.here->Write("x", 1).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(ends.here->Flush()));
  EXPECT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite).ok());
  ASSERT_TRUE(ends.there->Write("answer", 6).ok());
  ASSERT_TRUE(ends.there->Shutdown(ShutdownHow::kWrite).ok());
  EXPECT_EQ(ReceiveAll(*ends.here), "answer");
  EXPECT_EQ(ReadNow(*ends.here), "<end>");
}

TEST_P(StreamSocketTest, TheEndOfADirectionThatWasMetSurvivesThePeersClose) {
  Ends ends = Make(GetParam());
  ASSERT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite).ok());
  EXPECT_EQ(ReceiveAll(*ends.there), "");
  ends.here->Close();
  EXPECT_EQ(ReceiveAll(*ends.there), "");
}

TEST_P(StreamSocketTest, WhoReadsNoMoreEndsThePeersWrite) {
  Ends ends = Make(GetParam(), SmallRing());
  const std::string data = Data(100'000);
  Blocked writing([&] { return ends.there->Write(data.data(), data.size()).status(); });
  writing.WaitUntilAsleep();
  EXPECT_FALSE(Receive(*ends.here, 10).empty());
  ASSERT_TRUE(ends.here->Shutdown(ShutdownHow::kRead).ok());
  EXPECT_EQ(ReadNow(*ends.here), "<end>");
  const absl::Status result = writing.Result();
  EXPECT_TRUE(absl::IsUnavailable(result)) << result;
  EXPECT_NE(result.message().find("reads no more"), absl::string_view::npos) << result;
  // The other direction goes on.
  Send(*ends.here, "still");
  EXPECT_EQ(Receive(*ends.there, 5), "still");
}

TEST_P(StreamSocketTest, ThePeersCloseIsTheEndAfterAllThatItFlushedAndAnErrorForWrites) {
  Ends ends = Make(GetParam());
  Send(*ends.there, "last words");
  ASSERT_TRUE(ends.there->Write("never flushed", 13).ok());
  ends.there.reset();
  EXPECT_EQ(ReceiveAll(*ends.here), "last words");
  const absl::Status written = ends.here->Write("x", 1).status();
  EXPECT_TRUE(absl::IsUnavailable(written)) << written;
  EXPECT_NE(written.message().find("closed the connection"), absl::string_view::npos) << written;
  EXPECT_NE(written.message().find(absl::StrCat("pid ", getpid())), absl::string_view::npos);
  EXPECT_TRUE(absl::IsUnavailable(ends.here->Reserve(1).status()));
}

TEST_P(StreamSocketTest, AShutdownWithNothingToSendIsNoErrorWhenThePeerHasLeft) {
  Ends ends = Make(GetParam());
  ends.there.reset();
  EXPECT_EQ(ReceiveAll(*ends.here), "");
  EXPECT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite).ok());
}

TEST_P(StreamSocketTest, CloseFromAnotherThreadEndsABlockedRead) {
  Ends ends = Make(GetParam());
  char byte;
  Blocked reading([&] { return ends.here->Read(&byte, 1).status(); });
  reading.WaitUntilAsleep();
  ends.here->Close();
  EXPECT_TRUE(absl::IsCancelled(reading.Result()));
  EXPECT_TRUE(absl::IsCancelled(ends.here->Read(&byte, 1).status()));
}

TEST_P(StreamSocketTest, CloseFromAnotherThreadEndsABlockedWrite) {
  Ends ends = Make(GetParam(), SmallRing());
  const std::string data = Data(100'000);
  Blocked writing([&] { return ends.here->Write(data.data(), data.size()).status(); });
  writing.WaitUntilAsleep();
  ends.here->Close();
  EXPECT_TRUE(absl::IsCancelled(writing.Result()));
  EXPECT_TRUE(absl::IsCancelled(ends.here->Flush()));
}

TEST_P(StreamSocketTest, ThePeersCloseEndsABlockedReadAndABlockedWrite) {
  Ends ends = Make(GetParam(), SmallRing());
  const std::string data = Data(100'000);
  Blocked writing([&] { return ends.here->Write(data.data(), data.size()).status(); });
  Blocked reading([&] {
    char byte;
    const auto got = ends.here->Read(&byte, 1);
    EXPECT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, 0u);
    return got.status();
  });
  writing.WaitUntilAsleep();
  reading.WaitUntilAsleep();
  ends.there->Close();
  EXPECT_TRUE(absl::IsUnavailable(writing.Result()));
  EXPECT_TRUE(reading.Result().ok());
}

TEST_P(StreamSocketTest, DeadlinesFireAndLoseNothing) {
  Ends ends = Make(GetParam(), SmallRing());
  char byte;
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends.here->Read(&byte, 1, InAMillisecond()).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends.here->Receive(InAMillisecond()).status()));
  const std::string data = Data(100'000);
  // The reader does not read. A write takes what it can, the next one nothing.
  const auto taken = ends.here->Write(data.data(), data.size(), InAMillisecond());
  ASSERT_TRUE(taken.ok()) << taken.status();
  ASSERT_GT(*taken, 0u);
  ASSERT_LT(*taken, data.size());
  size_t sent = *taken;
  for (;;) {
    const auto more = ends.here->Write(data.data() + sent, 100, InAMillisecond());
    if (!more.ok()) {
      EXPECT_TRUE(absl::IsDeadlineExceeded(more.status())) << more.status();
      break;
    }
    sent += *more;
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends.here->Flush(InAMillisecond())));
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends.here->Reserve(1, InAMillisecond()).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(ends.here->Shutdown(ShutdownHow::kWrite, InAMillisecond())));
  std::thread reading([&] { EXPECT_TRUE(ReceiveAll(*ends.there) == data); });
  Send(*ends.here, data.substr(sent));
  EXPECT_TRUE(ends.here->Shutdown(ShutdownHow::kWrite, Soon()).ok());
  reading.join();
}

// Would reveal (ASan): memory unmapped under a record.

TEST_P(StreamSocketTest, KnowsWhoThePeerIs) {
  Ends ends = Make(GetParam());
  EXPECT_EQ(ends.here->peer().pid, getpid());
  EXPECT_EQ(ends.here->peer().uid, geteuid());
  EXPECT_EQ(ends.here->peer().gid, getegid());
}

// Would reveal: a close that races with the calls of both threads.

TEST_P(StreamSocketTest, CloseMayComeAtAnyMoment) {
  for (int round = 0; round < 50; ++round) {
    Ends ends = Make(GetParam(), SmallRing());
    const std::string data = Data(10'000);
    std::thread writing([&] {
      while (ends.here->Write(data.data(), data.size()).ok()) {
      }
    });
    std::thread reading([&] {
      char bytes[1000];
      for (;;) {
        const auto got = ends.there->Read(bytes, sizeof(bytes), Soon());
        if (!got.ok() || *got == 0) {
          EXPECT_TRUE(got.ok() || absl::IsCancelled(got.status())) << got.status();
          return;
        }
      }
    });
    for (int i = 0; i < round; ++i) std::this_thread::yield();
    (round % 2 == 0 ? ends.here : ends.there)->Close();
    writing.join();
    reading.join();
  }
}

TEST(StreamSocketOptionsTest, SizesThatCannotBeAreRefused) {
  SocketOptions options;
  options.capacity = 5000;
  EXPECT_TRUE(absl::IsInvalidArgument(StreamSocket::CreatePair(options).status()));
  options = {};
  options.max_record = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(StreamSocket::CreatePair(options).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(StreamSocket::Connect("1", options, Soon()).status()));
  options = {};
  options.max_record = size_t{1} << 20;
  options.records_in_flight = 10'000;
  EXPECT_TRUE(absl::IsInvalidArgument(StreamSocket::CreatePair(options).status()));
  options.records_in_flight = SIZE_MAX;
  EXPECT_TRUE(absl::IsInvalidArgument(StreamSocket::CreatePair(options).status()));
}

}  // namespace
}  // namespace locket::transport
