#include "locket/rpc/internal/buffer.h"

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace locket::internal {
namespace {

std::string Text(const Buffer& buffer) {
  return std::string(reinterpret_cast<const char*>(buffer.data()), buffer.size());
}

bool Append(Buffer& buffer, const std::string& text, size_t expected) {
  return buffer.Append(reinterpret_cast<const uint8_t*>(text.data()), text.size(), expected);
}

TEST(BufferTest, AppendsInOrder) {
  Buffer buffer;
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    all += std::to_string(i);
    ASSERT_TRUE(Append(buffer, std::to_string(i), 10000));
  }
  EXPECT_EQ(Text(buffer), all);
}

TEST(BufferTest, AnAnnouncementAloneTakesNoMemory) {
  Buffer buffer;
  // Would fail at once if the announced size were allocated.
  EXPECT_TRUE(Append(buffer, "x", size_t{1} << 60));
  EXPECT_EQ(Text(buffer), "x");
}

TEST(BufferTest, ClearKeepsSmallMemory) {
  Buffer buffer;
  ASSERT_TRUE(Append(buffer, std::string(1000, 'x'), 1000));
  const uint8_t* memory = buffer.data();
  buffer.Clear();
  EXPECT_EQ(buffer.size(), 0u);
  ASSERT_TRUE(Append(buffer, std::string(1000, 'y'), 1000));
  EXPECT_EQ(buffer.data(), memory);
}

TEST(BufferTest, ClearGivesLargeMemoryBack) {
  Buffer buffer;
  ASSERT_NE(buffer.Resize(Buffer::kKept + 1), nullptr);
  buffer.Clear();
  EXPECT_EQ(buffer.data(), nullptr);
}

}  // namespace
}  // namespace locket::internal
