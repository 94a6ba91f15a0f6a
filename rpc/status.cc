#include "locket/rpc/status.h"

namespace locket {

Status::Status(StatusCode code, const std::string& error_message, const std::string& error_details)
    : code_(code) {
  if (!error_message.empty() || !error_details.empty()) {
    texts_ = std::make_unique<const Texts>(Texts{error_message, error_details});
  }
}

Status::Status(const Status& other)
    : code_(other.code_),
      texts_(other.texts_ ? std::make_unique<const Texts>(*other.texts_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status(other);
  return *this;
}

// What stands behind the two references, as bytes with a trivial destructor: initialised before any
// code runs, so that a dynamic initialiser of the program may use Status::OK already, and never
// destroyed, so that its destructors may.
//
// SUBTLE: a Status in a union, or a constexpr destructor, looks cleaner: both compilers of Debian
// 12 then register a destructor at start-up all the same, or refuse.
struct Status::Immortal {
  StatusCode code;
  const Texts* texts;

  static const Immortal kOk;
  static const Immortal kCancelled;
};

constinit const Status::Immortal Status::Immortal::kOk = {StatusCode::OK, nullptr};
constinit const Status::Immortal Status::Immortal::kCancelled = {StatusCode::CANCELLED, nullptr};

static_assert(sizeof(Status) == 2 * sizeof(void*) && alignof(Status) == alignof(void*));
static_assert(sizeof(std::unique_ptr<const int>) == sizeof(void*));

// The bytes are constants that are read as a Status alone, so aliasing rules have nothing to
// reorder.
#pragma GCC diagnostic ignored "-Wstrict-aliasing"
const Status& Status::OK = *static_cast<const Status*>(static_cast<const void*>(&Immortal::kOk));
const Status& Status::CANCELLED =
    *static_cast<const Status*>(static_cast<const void*>(&Immortal::kCancelled));

}  // namespace locket
