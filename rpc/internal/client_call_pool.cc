#include "locket/rpc/internal/client_call_pool.h"

namespace locket::internal {

ClientCall& ClientCallPool::Take() {
  // The last one given first: its memory is warm. Those in use are few: their owners are parsing.
  for (size_t i = free_.size(); i-- > 0;) {
    ClientCall* const call = free_[i];
    if (call->in_use()) continue;
    free_[i] = free_.back();
    free_.pop_back();
    call->Use();
    return *call;
  }
  calls_.push_back(std::make_unique<ClientCall>());
  free_.reserve(calls_.capacity());  // Give() never allocates.
  calls_.back()->Use();
  return *calls_.back();
}

}  // namespace locket::internal
