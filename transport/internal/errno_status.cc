#include "locket/transport/internal/errno_status.h"

#include <cerrno>
#include <string>
#include <system_error>

namespace locket::transport::internal {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case ENOBUFS:
    case EAGAIN:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status ErrnoStatus(int error, std::string_view what) {
  std::string text(what);
  text += ": ";
  text += std::generic_category().message(error);
  return absl::Status(CodeOf(error), text);
}

}  // namespace locket::transport::internal
