// A stream of bytes that both processes of a test can make.
#ifndef LOCKET_TESTS_STREAM_DATA_H_
#define LOCKET_TESTS_STREAM_DATA_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace locket::tests {

// Each byte depends on its place, so that none can be missing, repeated or moved unseen.
class StreamData {
 public:
  // The next bytes.
  void Fill(char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) bytes[i] = Next();
  }

  // Takes what was received to be the next bytes.
  void Expect(const char* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) right_ = (bytes[i] == Next()) && right_;
  }

  size_t size() const { return size_; }
  bool right() const { return right_; }
  std::string Summary() const {
    return std::to_string(size_) + (right_ ? " bytes, right" : " bytes, wrong");
  }

 private:
  char Next() {
    ++size_;
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<char>(state_ >> 56);
  }

  size_t size_ = 0;
  uint64_t state_ = 0;
  bool right_ = true;
};

}  // namespace locket::tests

#endif  // LOCKET_TESTS_STREAM_DATA_H_
