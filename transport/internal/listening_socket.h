// A socket that listens at an address, by the rules for socket files.
#ifndef LOCKET_TRANSPORT_INTERNAL_LISTENING_SOCKET_H_
#define LOCKET_TRANSPORT_INTERNAL_LISTENING_SOCKET_H_

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "locket/transport/internal/address.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// Socket files: the path of a live server is refused, that of a dead one is taken over, and only
// our own file is removed at the end. The socket is bound to a temporary name, given its mode
// (whatever the umask), made to listen and renamed over the path, so that whoever finds the
// path can connect; all under a lock on the directory (flock), so that two servers cannot both find
// it dead.
class ListeningSocket {
 public:
  // Port 0 takes a free one. Errors: ALREADY_EXISTS where a live process listens, or the path is no
  // socket; what the system call said.
  static absl::StatusOr<std::unique_ptr<ListeningSocket>> Listen(Address address,
                                                                 mode_t mode = 0600);

  // A socket that listens already; its file, if it has one, is somebody else's. It becomes
  // non-blocking for all who share it: several processes may accept its clients. INVALID_ARGUMENT
  // for what is no listening Unix socket of sequenced packets.
  static absl::StatusOr<std::unique_ptr<ListeningSocket>> Adopt(UniqueFd socket);

  ~ListeningSocket();
  ListeningSocket(const ListeningSocket&) = delete;
  ListeningSocket& operator=(const ListeningSocket&) = delete;

  int descriptor() const { return socket_.get(); }
  const Address& address() const { return address_; }

 private:
  ListeningSocket(Address address, UniqueFd socket)
      : owner_(getpid()), address_(std::move(address)), socket_(std::move(socket)) {}

  absl::Status ListenAtPath(mode_t mode);
  absl::Status ListenAtName();

  const pid_t owner_;
  Address address_;
  UniqueFd socket_;
  // Of the socket file that is ours.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_LISTENING_SOCKET_H_
