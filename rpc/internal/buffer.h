// Private memory for a message that comes or goes in pieces.
#ifndef LOCKET_RPC_INTERNAL_BUFFER_H_
#define LOCKET_RPC_INTERNAL_BUFFER_H_

#include <cstddef>
#include <cstdint>

namespace locket::internal {

// Bytes that grow at the end and are never zeroed first. Keeps small memory from message to
// message, so that calls in the steady state allocate nothing.
//
// Thread safety: none of its own. Not copyable; owns its memory.
class Buffer {
 public:
  // Memory up to this is kept by Clear(); more is given back, so that an idle call holds no more.
  static constexpr size_t kKept = 128 * 1024;

  Buffer() = default;
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  void Clear();

  // Appends `size` bytes at `data`; `expected` is the size that the whole message will have. The
  // memory taken grows with what has come: at most twice as much. False where there is no memory.
  [[nodiscard]] bool Append(const uint8_t* data, size_t size, size_t expected);

  // Makes the buffer `size` bytes long, to be written by the caller; null where there is no memory.
  uint8_t* Resize(size_t size);

 private:
  bool Grow(size_t capacity);

  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_BUFFER_H_
