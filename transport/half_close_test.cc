// One direction of a connection that ends alone, and how an end by will is told from a death.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "locket/transport/connection.h"
#include "locket/transport/connection_testing.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/wait_set.h"

namespace locket::transport {
namespace {

// Each test from either end.
class HalfCloseTest : public testing::TestWithParam<bool> {
 protected:
  HalfCloseTest() { Make(true, true); }

  void Make(bool here_agrees, bool there_agrees) {
    const bool here_accepts = GetParam();
    ListenOptions listen;
    listen.ring_size = 4096;
    listen.half_close = here_accepts ? here_agrees : there_agrees;
    ConnectOptions connect;
    connect.half_close = here_accepts ? there_agrees : here_agrees;
    auto pair = CreatePair(listen, connect);
    EXPECT_TRUE(pair.ok()) << pair.status();
    here_ = std::move(pair->connecting);
    there_ = std::move(pair->accepting);
    if (here_accepts) std::swap(here_, there_);
  }

  std::unique_ptr<Connection> here_;
  std::unique_ptr<Connection> there_;
};

INSTANTIATE_TEST_SUITE_P(All, HalfCloseTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Accepting" : "Connecting"; });

TEST_P(HalfCloseTest, AWriterThatEndsItsDirectionIsReadToTheEndAndStillReads) {
  ASSERT_TRUE(Send(*here_, "last words"));
  EXPECT_FALSE(here_->write_closed());
  here_->CloseWrite();
  EXPECT_TRUE(here_->write_closed());
  EXPECT_EQ(here_->TryReserve(1), nullptr);
  EXPECT_EQ(here_->WaitWritable(1, Deadline::Infinite(), here_->interrupts()), WaitResult::kClosed);
  EXPECT_EQ(Receive(*there_), "last words");
  EXPECT_EQ(Receive(*there_), "<end>");
  EXPECT_TRUE(there_->ended_cleanly());
  EXPECT_FALSE(there_->closed());
  ASSERT_TRUE(Send(*there_, "answer"));
  EXPECT_EQ(Receive(*here_), "answer");
  there_->CloseWrite();
  EXPECT_EQ(Receive(*here_), "<end>");
  EXPECT_FALSE(here_->closed());
}

TEST_P(HalfCloseTest, WhenThereIsNoRoomThereIsRoomForTheEnd) {
  int sent = 0;
  for (; uint8_t* room = here_->TryReserve(40); ++sent) {
    memset(room, 'x', 40);
    here_->Commit(40);
  }
  here_->CloseWrite();
  for (int i = 0; i < sent; ++i) ASSERT_EQ(Receive(*there_), std::string(40, 'x'));
  EXPECT_EQ(Receive(*there_), "<end>");
}

// Would reveal: an end that wakes no sleeper.
TEST_P(HalfCloseTest, TheEndOfADirectionWakesTheReaderThatSleeps) {
  std::thread reading([&] { EXPECT_EQ(Receive(*there_), "<end>"); });
  here_->CloseWrite();
  reading.join();
}

// Would reveal: an end that does not ring the doorbell.
TEST_P(HalfCloseTest, AWaitSetReportsTheEndOfADirection) {
  if (GetParam()) return;  // It waits for accepting ends.
  auto set = *WaitSet::Create();
  ASSERT_TRUE(set->Add(there_.get(), there_.get()).ok());
  EXPECT_EQ(set->Wait(Deadline::AfterNanos(1'000'000)), nullptr);  // It is parked now.
  here_->CloseWrite();
  EXPECT_EQ(set->Wait(Deadline::After(kSoon)), there_.get());
  EXPECT_EQ(Receive(*there_), "<end>");
  set->Remove(there_.get());
}

TEST_P(HalfCloseTest, AReaderThatReadsNoMoreEndsTheWriterThatWaitsForRoom) {
  while (uint8_t* room = there_->TryReserve(500)) {
    memset(room, 'y', 500);
    there_->Commit(500);
  }
  std::thread writing([&] { EXPECT_FALSE(Send(*there_, std::string(500, 'x'))); });
  Record record;
  ASSERT_EQ(here_->TryReceive(&record), ReadResult::kRecord);
  here_->CloseRead();
  writing.join();
  // A record in use stays readable.
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(record.data), record.size),
            std::string(500, 'y'));
  here_->Release();
  EXPECT_TRUE(there_->write_closed());
  EXPECT_FALSE(there_->closed());
  EXPECT_EQ(here_->TryReceive(&record), ReadResult::kEnd);
  EXPECT_EQ(here_->WaitReadable(Deadline::Infinite(), here_->interrupts()), WaitResult::kClosed);
  EXPECT_FALSE(here_->ended_cleanly());
  ASSERT_TRUE(Send(*here_, "the other direction"));
  EXPECT_EQ(Receive(*there_), "the other direction");
}

TEST_P(HalfCloseTest, AnEndThatWasNotAgreedOnBreaksTheFormat) {
  Make(true, false);
  here_->CloseWrite();
  EXPECT_EQ(Receive(*there_), "<end>");
  EXPECT_TRUE(absl::IsInternal(there_->status())) << there_->status();
  EXPECT_FALSE(there_->ended_cleanly());

  Make(true, false);
  here_->CloseRead();
  while (Send(*there_, std::string(500, 'x'))) {
  }
  EXPECT_TRUE(absl::IsInternal(there_->status())) << there_->status();
}

TEST_P(HalfCloseTest, WhoDidNotAgreeEndsNoDirection) {
  Make(false, true);
  here_->CloseWrite();
  here_->CloseRead();
  EXPECT_FALSE(here_->write_closed());
  ASSERT_TRUE(Send(*here_, "goes on"));
  EXPECT_EQ(Receive(*there_), "goes on");
}

TEST_P(HalfCloseTest, AnEndByWillIsToldFromADeath) {
  ASSERT_TRUE(Send(*there_, "last words"));
  there_->Close(absl::CancelledError("enough"));
  EXPECT_EQ(Receive(*here_), "last words");
  EXPECT_EQ(Receive(*here_), "<end>");
  EXPECT_TRUE(here_->ended_cleanly());
}

TEST_P(HalfCloseTest, AFarewellEndsNothing) {
  there_->SayFarewell();
  EXPECT_FALSE(there_->closed());
  ASSERT_TRUE(Send(*there_, "still there"));
  EXPECT_EQ(Receive(*here_), "still there");
  EXPECT_FALSE(here_->ended_cleanly());
}

TEST_P(HalfCloseTest, WhoClosesItselfSeesNoCleanEnd) {
  here_->Close(absl::CancelledError("enough"));
  EXPECT_EQ(Receive(*here_), "<end>");
  EXPECT_FALSE(here_->ended_cleanly());
}

}  // namespace
}  // namespace locket::transport
