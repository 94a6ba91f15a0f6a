// Stream sockets between two processes: data of every size, each direction's end, and a peer that
// is killed, exits, or reads no more.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/tests/stream_data.h"
#include "locket/tests/test_process.h"
#include "locket/transport/internal/stream_testing.h"
#include "locket/transport/listener_socket.h"
#include "locket/transport/stream_socket.h"

namespace locket::transport {
namespace {

using internal::Blocked;
using internal::Soon;
using tests::StreamData;
using tests::TestProcess;

class StreamProcessTest : public testing::Test {
 protected:
  // Starts the peer, which connects, and accepts it.
  void Start(const std::string& what, size_t capacity = size_t{1} << 20, size_t size = 0) {
    SocketOptions options;
    options.capacity = capacity;
    auto listener = ListenerSocket::Listen("0", options);
    ASSERT_TRUE(listener.ok()) << listener.status();
    peer_ = std::make_unique<TestProcess>(
        getenv("PEER"),
        std::vector<std::string>{what, (*listener)->address(), std::to_string(size)});
    auto accepted = (*listener)->Accept(Soon());
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    socket_ = *std::move(accepted);
  }

  void Write(size_t size) {
    StreamData data;
    std::vector<char> bytes(60'000);
    for (size_t left = size; left > 0;) {
      const size_t piece = std::min(left, bytes.size());
      data.Fill(bytes.data(), piece);
      const auto written = socket_->Write(bytes.data(), piece, Soon());
      ASSERT_TRUE(written.ok()) << written.status();
      ASSERT_EQ(*written, piece);
      left -= piece;
    }
    const absl::Status ended = socket_->Shutdown(ShutdownHow::kWrite, Soon());
    ASSERT_TRUE(ended.ok()) << ended;
  }

  // What comes up to the end, or to an error, which is `end`.
  StreamData ReadAll(absl::Status* end = nullptr) {
    StreamData data;
    std::vector<char> bytes(60'000);
    for (;;) {
      const auto got = socket_->Read(bytes.data(), bytes.size(), Soon());
      if (end != nullptr) {
        *end = got.status();
      } else {
        EXPECT_TRUE(got.ok()) << got.status();
      }
      if (!got.ok() || *got == 0) return data;
      data.Expect(bytes.data(), *got);
    }
  }

  std::string ReadText(absl::Status* end) {
    std::string text;
    char bytes[100];
    for (;;) {
      const auto got = socket_->Read(bytes, sizeof(bytes), Soon());
      *end = got.status();
      if (!got.ok() || *got == 0) return text;
      text.append(bytes, *got);
    }
  }

  // Kills the peer while a thread sleeps in `call`; what the call returned.
  absl::Status KillDuring(const std::function<absl::Status()>& call) {
    int64_t returned_at = 0;
    Blocked blocked([&] {
      absl::Status result = call();
      returned_at = MonotonicNanos();
      return result;
    });
    blocked.WaitUntilAsleep();
    const int64_t killed_at = peer_->Kill();
    absl::Status result = blocked.Result();
    RecordProperty("microseconds", std::to_string((returned_at - killed_at) / 1000));
    return result;
  }

  std::unique_ptr<TestProcess> peer_;
  std::unique_ptr<StreamSocket> socket_;
};

TEST_F(StreamProcessTest, DataOfAnySizeIsEchoedThroughARingOfAnySize) {
  for (const size_t ring : {size_t{4096}, size_t{65536}}) {
    for (const size_t size : {size_t{0}, size_t{1}, ring - 1, ring, ring + 1, 10 * ring}) {
      Start("echo", ring);
      std::thread writing([&] { Write(size); });
      EXPECT_EQ(ReadAll().Summary(), absl::StrCat(size, " bytes, right"));
      writing.join();
      EXPECT_EQ(peer_->Wait(), 0);
    }
  }
}

// Would reveal: bytes lost, repeated or reordered where a side sleeps and is woken.
TEST_F(StreamProcessTest, AStreamOf64MiBCrossesARingOf4KiBToItsEndAndBack) {
  constexpr size_t kSize = size_t{64} << 20;
  Start("read_then_write", 4096);
  Write(kSize);
  // The peer's answer begins when it has read the end of this direction.
  const StreamData answer = ReadAll();
  EXPECT_EQ(peer_->ReadLine(), absl::StrCat(kSize, " bytes, right"));
  EXPECT_EQ(answer.Summary(), absl::StrCat(kSize, " bytes, right"));
  EXPECT_EQ(peer_->Wait(), 0);
}

TEST_F(StreamProcessTest, AKilledPeerEndsABlockedReadWithAnError) {
  Start("silent");
  ASSERT_EQ(peer_->ReadLine(), "ready");
  const absl::Status end = KillDuring([&] {
    char byte;
    return socket_->Read(&byte, 1, Soon()).status();
  });
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
  EXPECT_NE(end.message().find("died"), absl::string_view::npos) << end;
  EXPECT_NE(end.message().find(absl::StrCat("pid ", peer_->pid())), absl::string_view::npos) << end;
}

TEST_F(StreamProcessTest, AKilledPeerEndsABlockedWriteWithAnError) {
  Start("silent", 4096);
  ASSERT_EQ(peer_->ReadLine(), "ready");
  const std::string data(100'000, 'x');
  const absl::Status end =
      KillDuring([&] { return socket_->Write(data.data(), data.size(), Soon()).status(); });
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
  EXPECT_TRUE(absl::IsUnavailable(socket_->Write("x", 1).status()));
  EXPECT_TRUE(absl::IsUnavailable(socket_->Flush()));
}

TEST_F(StreamProcessTest, AKilledServerEndsItsClientsBlockedRead) {
  const std::string address = absl::StrCat("unix-abstract:locket-stream-", getpid());
  peer_ =
      std::make_unique<TestProcess>(getenv("PEER"), std::vector<std::string>{"listen", address});
  ASSERT_EQ(peer_->ReadLine(), "ready");
  auto connected = StreamSocket::Connect(address, {}, Soon());
  ASSERT_TRUE(connected.ok()) << connected.status();
  socket_ = *std::move(connected);
  ASSERT_EQ(peer_->ReadLine(), "accepted");
  const absl::Status end = KillDuring([&] {
    char byte;
    return socket_->Read(&byte, 1, Soon()).status();
  });
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
}

TEST_F(StreamProcessTest, AStreamThatWasEndedBeforeTheKillIsWhole) {
  Start("half_closed");
  ASSERT_EQ(peer_->ReadLine(), "ready");
  peer_->Kill();
  peer_->Wait();
  absl::Status end;
  EXPECT_EQ(ReadText(&end), "last words");
  EXPECT_TRUE(end.ok()) << end;
}

TEST_F(StreamProcessTest, AReaderThatStopsReadingMeetsTheWritersDeadline) {
  Start("silent", 4096);
  ASSERT_EQ(peer_->ReadLine(), "ready");
  const std::string data(100'000, 'x');
  size_t taken = 0;
  absl::Status late;
  while (late.ok()) {
    const auto put = socket_->Write(data.data(), data.size(), Deadline::AfterNanos(20'000'000));
    late = put.status();
    if (put.ok()) taken += *put;
  }
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  // The ring and the buffer of this side, and no more.
  EXPECT_GE(taken, 2000u);
  EXPECT_LE(taken, 8192u);
}

TEST_F(StreamProcessTest, ExitWithAnOpenSocketIsTheEndAfterAllThatWasFlushed) {
  Start("exit");
  absl::Status end;
  EXPECT_EQ(ReadText(&end), "flushed");
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(peer_->Wait(), 0);
}

TEST_F(StreamProcessTest, AProcessThatEndsWithoutExitHasDied) {
  Start("_exit");
  absl::Status end;
  EXPECT_EQ(ReadText(&end), "flushed");
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
}

// Would reveal: a farewell that the child says for its parent.
TEST_F(StreamProcessTest, AForkedChildThatExitsDoesNotEndItsParentsStream) {
  Start("fork");
  ASSERT_EQ(peer_->ReadLine(), "ready");
  char bytes[13] = {};
  size_t size = 0;
  while (size < 12) {
    const auto got = socket_->Read(bytes + size, 12 - size, Soon());
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_GT(*got, 0u);
    size += *got;
  }
  EXPECT_EQ(std::string(bytes), "before after");
  peer_->Kill();
  absl::Status end;
  EXPECT_EQ(ReadText(&end), "");
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
}

// Would reveal: an exit that waits for a blocked thread, wakes one, or tears a record.
TEST_F(StreamProcessTest, ExitDuringTrafficEndsTheStreamAndWaitsForNoThread) {
  for (const size_t size : {100, 10'000, 100'000}) {
    Start("exit_in_traffic", 4096, size);
    absl::Status end;
    const StreamData data = ReadAll(&end);
    EXPECT_TRUE(end.ok()) << end;
    EXPECT_TRUE(data.right());
    EXPECT_GE(data.size(), size);
    EXPECT_EQ(data.size() % 100, 0u);
    EXPECT_EQ(peer_->Wait(), 0);
  }
}

}  // namespace
}  // namespace locket::transport
