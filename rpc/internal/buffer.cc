#include "locket/rpc/internal/buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace locket::internal {

namespace {
constexpr size_t kSmallest = 256;
}

Buffer::~Buffer() { std::free(data_); }

void Buffer::Clear() {
  size_ = 0;
  if (capacity_ <= kKept) return;
  std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
}

bool Buffer::Append(const uint8_t* data, size_t size, size_t expected) {
  if (size > capacity_ - size_) {
    const size_t needed = size_ + size;
    if (!Grow(std::max(needed, std::min(expected, 2 * capacity_)))) return false;
  }
  if (size != 0) std::memcpy(data_ + size_, data, size);
  size_ += size;
  return true;
}

uint8_t* Buffer::Resize(size_t size) {
  if (size > capacity_ && !Grow(size)) return nullptr;
  size_ = size;
  return data_;
}

// realloc(), not new[]: it grows large blocks by moving pages instead of bytes.
bool Buffer::Grow(size_t capacity) {
  capacity = std::max(capacity, kSmallest);
  void* grown = std::realloc(data_, capacity);
  if (grown == nullptr) return false;
  data_ = static_cast<uint8_t*>(grown);
  capacity_ = capacity;
  return true;
}

}  // namespace locket::internal
