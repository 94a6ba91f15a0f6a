// A socket that listens, and hands over a StreamSocket for each client.
#ifndef LOCKET_TRANSPORT_LISTENER_SOCKET_H_
#define LOCKET_TRANSPORT_LISTENER_SOCKET_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "locket/transport/deadline.h"
#include "locket/transport/socket_options.h"
#include "locket/transport/stream_socket.h"

namespace locket::transport {

namespace internal {
class AcceptQueue;
}  // namespace internal

// Clients connect, and may write, before they are accepted: a thread of the listener
// (locket-accept) does the handshakes, and slow, silent or garbage-sending clients delay nobody.
//
// Thread safety: any thread, any number of them in Accept(). The destructor must run after every
// other call has returned.
class ListenerSocket {
 public:
  // Listens at an address as StreamSocket::Connect() takes it; port 0 takes a free one. Errors: as
  // Listener::Listen() of endpoint.h: ALREADY_EXISTS where a live process listens there,
  // INVALID_ARGUMENT for an address or a size that cannot be, PERMISSION_DENIED,
  // RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<ListenerSocket>> Listen(const std::string& address,
                                                                const SocketOptions& options = {});

  ~ListenerSocket();  // Close().
  ListenerSocket(const ListenerSocket&) = delete;
  ListenerSocket& operator=(const ListenerSocket&) = delete;

  // The next client, in the order in which they came; waits for one. One that has gone since is
  // handed over too: what it wrote can be read. DEADLINE_EXCEEDED; CANCELLED once closed.
  absl::StatusOr<std::unique_ptr<StreamSocket>> Accept(Deadline deadline = Deadline::Infinite());

  // As Accept(); null where no client is there.
  absl::StatusOr<std::unique_ptr<StreamSocket>> TryAccept();

  // Stops listening, from any thread: blocked Accept()s return, the socket's file is removed if it
  // is still ours, clients that were not accepted are closed. Accepted ones live on. Idempotent. A
  // process that exits without it leaves the file, which the next listener replaces.
  void Close();

  // What a client gives to StreamSocket::Connect(): the address of Listen(), with the port that was
  // taken.
  const std::string& address() const;

  // The port; 0 where the address is none.
  int port() const;

 private:
  explicit ListenerSocket(std::unique_ptr<internal::AcceptQueue> queue);

  absl::StatusOr<std::unique_ptr<StreamSocket>> AcceptUntil(const Deadline* until);

  const std::unique_ptr<internal::AcceptQueue> queue_;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_LISTENER_SOCKET_H_
