// The bytes of a fuzzer's input, taken apart from the front.
#ifndef LOCKET_TOOLS_FUZZ_INPUT_H_
#define LOCKET_TOOLS_FUZZ_INPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

namespace locket::fuzz {

// Once it is empty, everything taken from it is 0.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }

  template <typename Number>
  Number Take() {
    static_assert(std::is_integral_v<Number>);
    Number number = 0;
    const size_t size = std::min(sizeof(number), size_);
    if (size > 0) memcpy(&number, data_, size);
    Skip(size);
    return number;
  }

  std::string TakeBytes(size_t count) {
    const size_t size = std::min(count, size_);
    std::string bytes(reinterpret_cast<const char*>(data_), size);
    Skip(size);
    return bytes;
  }

 private:
  void Skip(size_t size) {
    data_ += size;
    size_ -= size;
  }

  const uint8_t* data_;
  size_t size_;
};

// What a fuzzer finds, besides what crashes by itself.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "fuzzer: %s\n", what);
  abort();
}

}  // namespace locket::fuzz

#endif  // LOCKET_TOOLS_FUZZ_INPUT_H_
