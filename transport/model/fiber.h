// A stack of its own for a thread of an explored execution, so that one real thread runs them all.
#ifndef LOCKET_TRANSPORT_MODEL_FIBER_H_
#define LOCKET_TRANSPORT_MODEL_FIBER_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace locket::transport::model {

// Runs `body` on its own stack whenever it is started. A start abandons what the fiber was doing:
// nothing is unwound, so bodies own nothing that a destructor must give back.
//
// Thread safety: all fibers of an execution belong to one thread.
class Fiber {
 public:
  // `body` must not return; it leaves by SwitchTo().
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // From `from` to this one, where it left off, or at the start of the body. Returns when somebody
  // switches to `from`.
  void SwitchTo(jmp_buf& from);
  // The same, but at the start of the body in any case.
  void Restart() { started_ = false; }

  // Where it left off.
  jmp_buf& place() { return place_; }

 private:
  static void Main(unsigned low, unsigned high);

  const std::function<void()> body_;
  const std::unique_ptr<char[]> stack_;
  bool prepared_ = false;  // Main() has saved start_.
  bool started_ = false;
  ucontext_t context_;
  ucontext_t unused_;
  jmp_buf start_;
  jmp_buf place_;
};

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_FIBER_H_
