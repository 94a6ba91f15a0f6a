#include "locket/transport/internal/doorbell.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "locket/transport/internal/kernel_features.h"

namespace locket::transport::internal {
namespace {

class DoorbellTest : public testing::TestWithParam<KernelFeatures> {
 protected:
  const ScopedKernelFeatures features_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(All, DoorbellTest, testing::Values(KernelFeatures(), kLinux5_1),
                         [](const auto& info) { return info.index == 0 ? "This" : "Linux5_1"; });

// Events that are there now.
int Events(const UniqueFd& epoll) {
  struct epoll_event event;
  return epoll_wait(epoll.get(), &event, 1, 0);
}

TEST_P(DoorbellTest, EachRingIsReportedOnceAndNoneBefore) {
  const UniqueFd bell = *CreateDoorbell();
  EXPECT_TRUE(CheckDoorbell(bell.get()).ok());
  const UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  struct epoll_event event = {};
  event.events = kDoorbellEvents;
  ASSERT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, bell.get(), &event), 0);
  EXPECT_EQ(Events(epoll), 0);
  for (int i = 0; i < 100; ++i) {
    RingDoorbell(bell.get());
    EXPECT_EQ(Events(epoll), 1);
    EXPECT_EQ(Events(epoll), 0);
  }
  RingDoorbell(bell.get());
  RingDoorbell(bell.get());
  EXPECT_EQ(Events(epoll), 1);
  EXPECT_EQ(Events(epoll), 0);
}

TEST_P(DoorbellTest, WhatIsNoEventfdIsRefused) {
  int pipe[2];
  ASSERT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd reading(pipe[0]);
  const UniqueFd writing(pipe[1]);
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  for (const UniqueFd* each : {&reading, &writing, &null, &file}) {
    EXPECT_TRUE(absl::IsInternal(CheckDoorbell(each->get())));
  }
}

TEST(HostileDoorbellTest, RingingWaitsForNothing) {
  int pipe[2];
  ASSERT_EQ(pipe2(pipe, O_CLOEXEC), 0);
  const UniqueFd reading(pipe[0]);
  const UniqueFd writing(pipe[1]);
  const UniqueFd empty(eventfd(0, EFD_CLOEXEC));
  for (const UniqueFd* each : {&reading, &empty}) RingDoorbell(each->get());
}

}  // namespace
}  // namespace locket::transport::internal
