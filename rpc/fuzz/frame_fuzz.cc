// The decoder of frames: whatever a record holds, what it gives lies within the record.
#include <cstdint>
#include <string>
#include <vector>

#include "locket/rpc/internal/frame.h"
#include "locket/tools/fuzz_input.h"

namespace locket::internal {
namespace {

void RequireWithin(const Bytes& part, const std::vector<uint8_t>& record) {
  if (part.size == 0) return;
  fuzz::Require(
      part.data >= record.data() && part.data + part.size <= record.data() + record.size(),
      "bytes outside the record");
}

}  // namespace
}  // namespace locket::internal

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace locket::internal;
  const std::vector<uint8_t> record(data, data + size);  // ASan knows where it ends.
  Frame frame;
  std::string reason;
  switch (DecodeFrame(record.data(), record.size(), &frame, &reason)) {
    case Decoded::kFrame:
      for (const Bytes& part : {frame.name, frame.text, frame.details, frame.message}) {
        RequireWithin(part, record);
      }
      locket::fuzz::Require(
          frame.message.size <= frame.message_size || frame.type == FrameType::kContinue,
          "more of a message than there is");
      break;
    case Decoded::kSkip:
      break;
    case Decoded::kViolation:
      locket::fuzz::Require(!reason.empty(), "a violation without a reason");
      break;
  }
  return 0;
}
