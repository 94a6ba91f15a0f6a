#include "locket/transport/model/fiber.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

namespace locket::transport::model {
namespace {

constexpr size_t kStackSize = size_t{1} << 17;

}  // namespace

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(std::make_unique<char[]>(kStackSize)) {}

// makecontext() passes ints.
void Fiber::Main(unsigned low, unsigned high) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it was a pointer before it was two ints.
  auto* const self = reinterpret_cast<Fiber*>((uint64_t{high} << 32) | low);
  // Each Restart() comes back to here, by a jump instead of a system call.
  static_cast<void>(_setjmp(self->start_));
  self->body_();
  abort();  // The body must not return.
}

void Fiber::SwitchTo(jmp_buf& from) {
  if (_setjmp(from) != 0) return;
  if (started_) _longjmp(place_, 1);
  started_ = true;
  if (prepared_) _longjmp(start_, 1);
  prepared_ = true;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_.get();
  context_.uc_stack.ss_size = kStackSize;
  context_.uc_link = nullptr;
  const auto address = reinterpret_cast<uint64_t>(this);
  makecontext(&context_, reinterpret_cast<void (*)()>(&Main), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(address >> 32));
  swapcontext(&unused_, &context_);
}

}  // namespace locket::transport::model
