// Frames against PROTOCOL.md's examples, and against bytes that no honest peer sends.
#include "locket/rpc/internal/frame.h"

#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locket/rpc/internal/handshake.h"

namespace locket::internal {
namespace {

using Raw = std::vector<uint8_t>;

// The blocks "```hex NAME" of PROTOCOL.md.
std::map<std::string, Raw> ReadExamples() {
  std::map<std::string, Raw> examples;
  std::ifstream file("rpc/PROTOCOL.md");
  std::string line;
  std::string name;
  while (std::getline(file, line)) {
    if (line.rfind("```hex ", 0) == 0) {
      name = line.substr(7);
    } else if (line.rfind("```", 0) == 0) {
      name.clear();
    } else if (!name.empty()) {
      std::istringstream bytes(line);
      unsigned byte;
      while (bytes >> std::hex >> byte) examples[name].push_back(static_cast<uint8_t>(byte));
    }
  }
  return examples;
}

Raw Example(const std::string& name) {
  const std::map<std::string, Raw> examples = ReadExamples();
  const auto found = examples.find(name);
  if (found == examples.end()) {
    ADD_FAILURE() << "PROTOCOL.md has no example " << name;
    return {};
  }
  return found->second;
}

template <typename Header>
Raw Encode(const Header& header, const std::string& rest = "") {
  Raw bytes(sizeof(header) + rest.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), rest.data(), rest.size());
  return bytes;
}

std::string Text(Bytes bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data), bytes.size);
}

struct Result {
  Decoded decoded;
  Frame frame;
  std::string reason;
};

Result Decode(const Raw& bytes) {
  Result result;
  result.decoded = DecodeFrame(bytes.data(), bytes.size(), &result.frame, &result.reason);
  return result;
}

// ---- The examples, both ways.

TEST(FrameExampleTest, HandshakeOfAClient) {
  const std::string block = EncodeHandshake(Handshake());
  EXPECT_EQ(Raw(block.begin(), block.end()), Example("handshake-client"));
}

TEST(FrameExampleTest, StartWithAName) {
  const Raw bytes = Example("start-named");
  EXPECT_EQ(Encode(MakeStart(0, 0, 6, 6, 1'000'000'000), "/p.S/M\n\4ping"), bytes);
  const Result result = Decode(bytes);
  ASSERT_EQ(result.decoded, Decoded::kFrame) << result.reason;
  EXPECT_EQ(result.frame.type, FrameType::kStart);
  EXPECT_EQ(result.frame.flags, kFlagMethodName | kFlagMessage | kFlagEnd);
  EXPECT_EQ(result.frame.method, 0u);
  EXPECT_EQ(result.frame.timeout_ns, 1'000'000'000u);
  EXPECT_EQ(Text(result.frame.name), "/p.S/M");
  EXPECT_EQ(Text(result.frame.message), "\n\4ping");
}

TEST(FrameExampleTest, StartOfABoundMethodIsOneLineWithItsRecordHeader) {
  const Raw bytes = Example("start-bound");
  EXPECT_EQ(Encode(MakeStart(0, 0, 0, 6, 0), "\n\4ping"), bytes);
  EXPECT_EQ(Decode(bytes).decoded, Decoded::kFrame);
  EXPECT_LE(bytes.size() + 8, 64u);
}

TEST(FrameExampleTest, MessageInTwoPieces) {
  const Raw first = Example("message");
  const Raw second = Example("continue");
  EXPECT_EQ(Encode(MakeMessage(3, 20), "0123456789ab"), first);
  EXPECT_EQ(Encode(MakeContinue(3), "cdefghij"), second);
  EXPECT_EQ(Decode(first).frame.message_size, 20u);
  EXPECT_EQ(Text(Decode(first).frame.message) + Text(Decode(second).frame.message),
            "0123456789abcdefghij");
}

TEST(FrameExampleTest, FinishWithAResponse) {
  const Raw bytes = Example("finish-ok");
  EXPECT_EQ(Encode(MakeFinishOk(0, 6), "\n\4pong"), bytes);
  EXPECT_LE(bytes.size() + 8, 64u);
  const Result result = Decode(bytes);
  ASSERT_EQ(result.decoded, Decoded::kFrame) << result.reason;
  EXPECT_EQ(result.frame.code, 0);
  EXPECT_EQ(Text(result.frame.message), "\n\4pong");
}

TEST(FrameExampleTest, FinishWithAnError) {
  const Raw bytes = Example("finish-error");
  EXPECT_EQ(Encode(MakeFinish(5, 5, 2, 0), "no"), bytes);
  const Result result = Decode(bytes);
  ASSERT_EQ(result.decoded, Decoded::kFrame) << result.reason;
  EXPECT_EQ(result.frame.call_id, 5u);
  EXPECT_EQ(Text(result.frame.text), "no");
}

TEST(FrameExampleTest, CancelAndGoAway) {
  EXPECT_EQ(Encode(MakeCancel(5)), Example("cancel"));
  EXPECT_EQ(Encode(MakeGoAway()), Example("goaway"));
  EXPECT_EQ(Decode(Example("cancel")).frame.call_id, 5u);
  EXPECT_EQ(Decode(Example("goaway")).decoded, Decoded::kFrame);
}

// ---- Bytes of a hostile peer.

// Every example, shortened to each length that it can have, is a frame or a violation, and no field
// points outside the record.
TEST(FrameHostileTest, ShortenedFramesNeverReachBeyondTheirRecord) {
  for (const auto& [name, bytes] : ReadExamples()) {
    if (name == "handshake-client") continue;
    for (size_t size = 0; size < bytes.size(); ++size) {
      const Raw exact(bytes.begin(), bytes.begin() + size);  // ASan guards its end.
      const Result result = Decode(exact);
      if (result.decoded == Decoded::kViolation) {
        EXPECT_NE(result.reason, "");
        continue;
      }
      for (const Bytes part :
           {result.frame.name, result.frame.text, result.frame.details, result.frame.message}) {
        if (part.size == 0) continue;
        EXPECT_GE(part.data, exact.data()) << name << " cut to " << size;
        EXPECT_LE(part.data + part.size, exact.data() + exact.size()) << name << " cut to " << size;
      }
    }
  }
}

TEST(FrameHostileTest, RandomBytesNeverReachBeyondTheirRecord) {
  std::minstd_rand random(20261130);
  for (int round = 0; round < 200000; ++round) {
    Raw bytes(random() % 80);
    for (uint8_t& byte : bytes) byte = random() % 4 == 0 ? random() : random() % 8;
    const Result result = Decode(bytes);
    if (result.decoded != Decoded::kFrame) continue;
    unsigned sum = 0;  // Reads each byte, for ASan.
    for (const Bytes part :
         {result.frame.name, result.frame.text, result.frame.details, result.frame.message}) {
      for (size_t i = 0; i < part.size; ++i) sum += part.data[i];
    }
    ASSERT_LE(sum, 255u * 80);
  }
}

TEST(FrameHostileTest, UnknownTypesAreSkippedOnlyIfOptional) {
  Raw bytes = Encode(MakeCancel(1));
  for (int type = 0; type < 256; ++type) {
    if (type >= 1 && type <= 6) continue;
    bytes[0] = static_cast<uint8_t>(type);
    EXPECT_EQ(Decode(bytes).decoded, type < 128 ? Decoded::kViolation : Decoded::kSkip) << type;
  }
}

TEST(FrameHostileTest, UnknownFlagsAreViolations) {
  const std::vector<std::pair<Raw, int>> frames = {
      {Example("start-bound"), 0x06 | 0x01},
      {Example("message"), 0},
      {Example("continue"), 0},
      {Example("finish-ok"), kFlagMessage | kFlagNotBegun},
      {Example("cancel"), 0},
      {Example("goaway"), 0},
  };
  for (auto [bytes, known] : frames) {
    for (int bit = 1; bit < 256; bit <<= 1) {
      if ((known & bit) != 0) continue;
      Raw changed = bytes;
      changed[1] = static_cast<uint8_t>(changed[1] | bit);
      EXPECT_EQ(Decode(changed).decoded, Decoded::kViolation) << int{bytes[0]} << " flag " << bit;
    }
  }
}

TEST(FrameHostileTest, ReservedFieldsMustBeZero) {
  const std::vector<std::pair<std::string, std::vector<int>>> reserved = {
      {"start-bound", {2, 3, 24, 27, 30, 31}}, {"message", {2, 12, 15}}, {"continue", {2, 3}},
      {"finish-ok", {2, 24, 28, 31}},          {"cancel", {2, 3}},       {"goaway", {3}},
  };
  for (const auto& [name, offsets] : reserved) {
    for (const int offset : offsets) {
      Raw bytes = Example(name);
      bytes[offset] = 1;
      EXPECT_EQ(Decode(bytes).decoded, Decoded::kViolation) << name << " at " << offset;
    }
  }
}

TEST(FrameHostileTest, SizesThatDoNotFitAreViolations) {
  // More bytes than the message is said to have.
  EXPECT_EQ(Decode(Encode(MakeStart(0, 0, 0, 1, 0), "ab")).decoded, Decoded::kViolation);
  EXPECT_EQ(Decode(Encode(MakeMessage(0, 1), "ab")).decoded, Decoded::kViolation);
  // A name longer than the record; a name without the flag, and the flag without a name.
  EXPECT_EQ(Decode(Encode(MakeStart(0, 0, 3, 0, 0), "ab")).decoded, Decoded::kViolation);
  StartHeader start = MakeStart(0, 0, 2, 0, 0);
  start.frame.flags &= ~kFlagMethodName;
  EXPECT_EQ(Decode(Encode(start, "ab")).decoded, Decoded::kViolation);
  start = MakeStart(0, 0, 0, 0, 0);
  start.frame.flags |= kFlagMethodName;
  EXPECT_EQ(Decode(Encode(start)).decoded, Decoded::kViolation);
  // A message size without a message.
  start = MakeStart(0, 0, 0, 4, 0);
  start.frame.flags &= ~kFlagMessage;
  EXPECT_EQ(Decode(Encode(start)).decoded, Decoded::kViolation);
  // Parts of a FINISH that leave bytes over, or that overflow 32 bits when summed up.
  EXPECT_EQ(Decode(Encode(MakeFinish(0, 1, 1, 0), "ab")).decoded, Decoded::kViolation);
  EXPECT_EQ(Decode(Encode(MakeFinish(0, 1, 0xffffffff, 3), "ab")).decoded, Decoded::kViolation);
  // A piece without a byte.
  EXPECT_EQ(Decode(Encode(MakeContinue(0))).decoded, Decoded::kViolation);
  // Bytes after a header that stands alone.
  EXPECT_EQ(Decode(Encode(MakeCancel(0), "a")).decoded, Decoded::kViolation);
}

TEST(FrameTest, MessagesMayBeEmpty) {
  EXPECT_EQ(Decode(Encode(MakeStart(0, 0, 0, 0, 0))).decoded, Decoded::kFrame);
  EXPECT_EQ(Decode(Encode(MakeFinishOk(0, 0))).decoded, Decoded::kFrame);
}

TEST(FrameTest, AStartMayHoldTheBeginningOfItsMessageOnly) {
  const Result result = Decode(Encode(MakeStart(0, 0, 0, 1000, 0), "ab"));
  ASSERT_EQ(result.decoded, Decoded::kFrame) << result.reason;
  EXPECT_EQ(result.frame.message_size, 1000u);
  EXPECT_EQ(result.frame.message.size, 2u);
}

}  // namespace
}  // namespace locket::internal
