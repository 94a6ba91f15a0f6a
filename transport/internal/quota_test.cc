#include "locket/transport/internal/quota.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace locket::transport::internal {
namespace {

TEST(QuotaTest, MoreConnectionsThanAllowedAreRefusedUntilOneEnds) {
  const auto quota = std::make_shared<Quota>(2, 1000);
  absl::StatusOr<Quota::Ticket> first = quota->Take(1);
  const absl::StatusOr<Quota::Ticket> second = quota->Take(1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(quota->Take(1).status(), absl::ResourceExhaustedError("2 connections of at most 2"));
  *first = Quota::Ticket();
  EXPECT_TRUE(quota->Take(1).ok());
}

TEST(QuotaTest, MoreMemoryThanAllowedIsRefusedUntilThereIsRoom) {
  const auto quota = std::make_shared<Quota>(10, 1000);
  absl::StatusOr<Quota::Ticket> first = quota->Take(600);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(quota->Take(401).status(),
            absl::ResourceExhaustedError("a segment of 401 bytes beside 600 of at most 1000"));
  EXPECT_TRUE(quota->Take(400).ok());
  *first = Quota::Ticket();
  EXPECT_TRUE(quota->Take(1000).ok());
}

TEST(QuotaTest, ATicketOutlivesItsListener) {
  auto quota = std::make_shared<Quota>(1, 1);
  Quota::Ticket ticket = *quota->Take(1);
  quota.reset();
  const Quota::Ticket moved = std::move(ticket);
}

}  // namespace
}  // namespace locket::transport::internal
