// Which methods already have a number on one connection. PROTOCOL.md, "Method numbers".
#ifndef LOCKET_RPC_INTERNAL_METHOD_BINDINGS_H_
#define LOCKET_RPC_INTERNAL_METHOD_BINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "locket/rpc/internal/frame.h"
#include "locket/rpc/internal/rpc_method.h"

namespace locket::internal {

// The client's half: from a method's index in this process to its number on the connection.
//
// Thread safety: none of its own; the send lock guards it, since numbers are bound in the order in
// which frames go out.
class MethodBindings {
 public:
  explicit MethodBindings(uint32_t limit) : limit_(limit) {}

  struct Use {
    uint32_t number;
    bool named;  // The START must carry the name.
  };

  // How a START of `method` that goes out next would name it. Changes nothing: it may not go out.
  Use Find(const RpcMethod& method) const {
    if (method.index() < numbers_.size() && numbers_[method.index()] != kUnboundMethod) {
      return {numbers_[method.index()], false};
    }
    return {next_ < limit_ ? next_ : kUnboundMethod, true};
  }

  // A START that Find() described as `use` went out.
  void Sent(const RpcMethod& method, Use use) {
    if (!use.named || use.number == kUnboundMethod) return;
    if (method.index() >= numbers_.size()) numbers_.resize(method.index() + 1, kUnboundMethod);
    numbers_[method.index()] = use.number;
    ++next_;
  }

 private:
  const uint32_t limit_;
  uint32_t next_ = 0;
  std::vector<uint32_t> numbers_;  // By RpcMethod::index().
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_METHOD_BINDINGS_H_
