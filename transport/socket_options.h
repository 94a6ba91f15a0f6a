// What can be chosen about stream sockets.
#ifndef LOCKET_TRANSPORT_SOCKET_OPTIONS_H_
#define LOCKET_TRANSPORT_SOCKET_OPTIONS_H_

#include <cstddef>
#include <string>

#include "locket/transport/endpoint.h"

namespace locket::transport {

// For ListenerSocket::Listen(), StreamSocket::Connect() and StreamSocket::CreatePair().
struct SocketOptions {
  // ---- The listening side alone chooses these, for its clients too; CreatePair() as well.

  // Bytes of the ring of each direction: a power of two, from 4 KiB to 1 GiB. Data of any size
  // crosses a ring of any size; a larger one lets the writer run further ahead of the reader.
  size_t capacity = size_t{1} << 20;

  // How many records of max_record bytes fit into a ring at once, at least: `capacity` is doubled
  // until they do. 0: as many as fit. There is no other limit on records in flight: of smaller ones
  // more fit, up to one for each 64 bytes of the capacity.
  size_t records_in_flight = 0;

  // Clients that have connected and were not accepted yet. When there are more, the next ones are
  // refused with RESOURCE_EXHAUSTED.
  size_t backlog = 128;

  // ---- Each side chooses these for itself.

  // Bytes of the largest record that this side writes, by Reserve() or from a large Write(). Cut
  // down to a quarter of the ring less 8 bytes: StreamSocket::max_record().
  size_t max_record = (size_t{64} << 10) - 8;

  // Where the socket of an address "locket:name" lies: an existing directory, such as one that two
  // containers share. Empty: where endpoint.h says.
  std::string directory;

  // How long a blocking call spins before it sleeps.
  SpinOptions spin;

  // ---- What else endpoint.h offers, such as who may connect and how long a handshake may take.
  // `ring_size`, `spin`, `half_close`, `negotiate` and `block` of these two are the socket's own
  // affair: what they hold is not used.
  ListenOptions listen;
  ConnectOptions connect;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_SOCKET_OPTIONS_H_
