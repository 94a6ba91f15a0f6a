// Holds the code to the bytes of FORMAT.md.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "locket/transport/internal/handshake_messages.h"
#include "locket/transport/internal/layout.h"
#include "locket/transport/internal/ring.h"
#include "locket/transport/internal/ring_memory.h"

namespace locket::transport::internal {
namespace {

std::string ReadFormat() {
  std::ifstream file("transport/FORMAT.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The text between "```name" and "```".
std::string Block(const std::string& name) {
  const std::string format = ReadFormat();
  const std::string open = "```" + name + "\n";
  const size_t start = format.find(open);
  EXPECT_NE(start, std::string::npos) << name;
  if (start == std::string::npos) return "";
  return format.substr(start + open.size(), format.find("```", start + 3) - start - open.size());
}

// Calls `check(offset, bytes)` for each line of a block of hex bytes.
template <typename Check>
void ForEachLine(const std::string& name, Check check) {
  std::istringstream lines(Block(name));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::istringstream words(line);
    size_t offset;
    words >> std::hex >> offset;
    std::string bytes;
    for (unsigned byte; words >> std::hex >> byte;) bytes += static_cast<char>(byte);
    check(offset, bytes);
  }
  EXPECT_GT(count, 0) << name;
}

TEST(FormatTest, TheLayoutHashIsThatOfTheLayoutBlock) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : Block("layout 1")) hash = (hash ^ c) * 0x100000001b3;
  EXPECT_EQ(hash, kLayoutHash);
  std::stringstream quoted;
  quoted << "layout hash of format 1 is `0x" << std::hex << hash << "`";
  EXPECT_NE(ReadFormat().find(quoted.str()), std::string::npos) << quoted.str();
}

TEST(FormatTest, RecordsHaveTheBytesOfTheWorkedExample) {
  RingMemory memory(4096);
  RingWriter writer(memory.data(), memory.size(), memory.control());
  memcpy(writer.TryReserve(5), "hello", 5);
  writer.Commit(5);
  writer.TryReserve(0);
  writer.Commit(0);
  ForEachLine("record", [&](size_t offset, const std::string& bytes) {
    EXPECT_EQ(memcmp(memory.data() + offset, bytes.data(), bytes.size()), 0) << offset;
  });

  writer.CommitEnd();
  ForEachLine("end", [&](size_t offset, const std::string& bytes) {
    EXPECT_EQ(memcmp(memory.data() + offset, bytes.data(), bytes.size()), 0) << offset;
  });

  RingReader reader(memory.data(), memory.size(), memory.control());
  const uint8_t* data;
  size_t size;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(reader.Peek(&data, &size), RingReader::Peeked::kRecord);
    reader.Release();
  }
  const auto expect_head = [&](size_t offset, const std::string& bytes) {
    const auto* head = reinterpret_cast<const char*>(&memory.control().head);
    EXPECT_EQ(memcmp(head + offset, bytes.data(), bytes.size()), 0) << offset;
  };
  ForEachLine("head", expect_head);
  EXPECT_EQ(reader.Peek(&data, &size), RingReader::Peeked::kEnd);
  reader.EndReading();
  ForEachLine("no_more", expect_head);
}

TEST(FormatTest, TheHelloHasTheBytesOfTheWorkedExample) {
  const std::string hello = Encode(Hello(), "ab");
  std::string expected;
  ForEachLine("hello", [&](size_t offset, const std::string& bytes) {
    EXPECT_EQ(offset, expected.size());
    expected += bytes;
  });
  EXPECT_EQ(hello, expected);
}

}  // namespace
}  // namespace locket::transport::internal
