// errno becomes a Status here, at the system call. (Where an errno is no error of the call but news
// of the peer, such as EPIPE, its caller says what it means.)
#ifndef LOCKET_TRANSPORT_INTERNAL_ERRNO_STATUS_H_
#define LOCKET_TRANSPORT_INTERNAL_ERRNO_STATUS_H_

#include <string_view>

#include "absl/status/status.h"

namespace locket::transport::internal {

// "`what`: No such file or directory". Codes: EMFILE, ENFILE, ENOMEM, ENOSPC, ENOBUFS and EAGAIN
// are RESOURCE_EXHAUSTED, EACCES and EPERM are PERMISSION_DENIED, everything else is UNAVAILABLE.
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_ERRNO_STATUS_H_
