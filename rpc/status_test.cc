#include "locket/rpc/status.h"

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace locket {
namespace {

// Runs before main(): Status::OK must be usable already.
const bool kOkBeforeMain = Status::OK.ok() && Status::CANCELLED.error_code() == CANCELLED;

TEST(StatusTest, TheStaticStatusesAreThereBeforeAnyCodeRuns) { EXPECT_TRUE(kOkBeforeMain); }

TEST(StatusTest, TheStaticStatusesHaveNoText) {
  EXPECT_EQ(Status::OK.error_message(), "");
  EXPECT_EQ(Status::CANCELLED.error_message(), "");
  EXPECT_EQ(Status::CANCELLED.error_details(), "");
}

TEST(StatusTest, DefaultIsOk) {
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status().error_code(), StatusCode::OK);
}

TEST(StatusTest, HoldsCodeTextAndDetailsOfAnyBytes) {
  const std::string bytes("a\0b\xff\n", 5);
  const Status status(StatusCode::NOT_FOUND, bytes, bytes + "d");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.error_code(), NOT_FOUND);
  EXPECT_EQ(status.error_message(), bytes);
  EXPECT_EQ(status.error_details(), bytes + "d");
}

TEST(StatusTest, HoldsCodesThatHaveNoName) {
  EXPECT_EQ(static_cast<int>(Status(static_cast<StatusCode>(42), "").error_code()), 42);
}

TEST(StatusTest, CopiesAreIndependent) {
  Status original(INTERNAL, "text", "details");
  Status copy = original;
  original = Status::OK;
  EXPECT_EQ(copy.error_message(), "text");
  copy = *&copy;
  EXPECT_EQ(copy.error_details(), "details");
  const Status moved = std::move(copy);
  EXPECT_EQ(moved.error_message(), "text");
}

TEST(StatusTest, CodesHaveTheNumbersOfGrpc) {
  EXPECT_EQ(StatusCode::OK, 0);
  EXPECT_EQ(StatusCode::RESOURCE_EXHAUSTED, 8);
  EXPECT_EQ(StatusCode::UNAUTHENTICATED, 16);
  EXPECT_EQ(StatusCode::DO_NOT_USE, -1);
}

}  // namespace
}  // namespace locket
