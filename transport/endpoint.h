// How connections come to be: listen, connect, or both ends in one process.
#ifndef LOCKET_TRANSPORT_ENDPOINT_H_
#define LOCKET_TRANSPORT_ENDPOINT_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"

namespace locket::transport {

// How a wait spins before it sleeps. It never does where this process and the peer share their only
// CPU, or where the process's control groups leave it fewer than two CPUs' time (cpu.max,
// cfs_quota_us). At most one thread fewer than the process can run at once spins at a time.
struct SpinOptions {
  // For this long at most. 0: never.
  std::chrono::nanoseconds limit = std::chrono::microseconds(50);
  // After so many waits in a row that spun in vain, a connection's waits sleep at once, until one
  // of them would have ended within the limit; one in `probe_every` (1 at least) spins all the
  // same.
  uint32_t give_up_after = 4;
  uint32_t probe_every = 64;
  // A thread that was off its CPU for longer than `gap` while it spun takes this for a sign that
  // others want the CPUs: the whole process spins no more for `rest`, and for up to 1024 times as
  // long where it happens again and again.
  std::chrono::nanoseconds gap = std::chrono::microseconds(50);
  std::chrono::nanoseconds rest = std::chrono::milliseconds(1);
};

// Who may be at the other end, beside processes of this one's effective uid and root: those of the
// uids, and members of the groups. The kernel says who that is. Of a client all groups count, of a
// server its real gid. The overflow uid and gid (65534), which stand for all that this user
// namespace does not map, never count, also if they are named here.
struct AllowedPeers {
  std::vector<uid_t> uids;
  std::vector<gid_t> gids;
};

// Bytes of the opaque block at most.
inline constexpr size_t kMaxBlockSize = 1024;

struct ListenOptions {
  // Bytes of each ring: a power of two, from 4 KiB to 1 GiB. Each connection has two.
  size_t ring_size = size_t{1} << 20;
  // A client that has not finished its handshake by then is dropped.
  std::chrono::nanoseconds handshake_timeout = std::chrono::seconds(10);
  SpinOptions spin;
  // Clients that are admitted. Those of other users also need the permission to write the socket's
  // file, which is socket_mode, and to reach it.
  AllowedPeers allowed_clients;
  // The mode of the socket's file, whatever the umask.
  mode_t socket_mode = 0600;
  // Connections at once, and bytes of their segments (a segment has two rings and a page): a client
  // beyond it is refused with RESOURCE_EXHAUSTED. Handshakes and connections that the callback got
  // count, until they are destroyed.
  size_t max_connections = std::numeric_limits<size_t>::max();
  uint64_t max_memory = std::numeric_limits<uint64_t>::max();
  // Takes the page faults of a new connection's rings (on this side) before it is handed over,
  // instead of at the first record in each page.
  bool prefault = false;
  // Whether one direction can end alone (CloseWrite(), CloseRead()). Both sides must have it, which
  // their upper layers agree on by their blocks: where it is off, a peer that does it breaks the
  // format.
  bool half_close = false;
  // Reads the block of a client's upper layer and answers with ours, or refuses the client with an
  // error whose text it gets. Runs on the accepting thread: must not block. Empty: an empty block.
  std::function<absl::StatusOr<std::string>(const std::string& client_block)> negotiate;
};

// Listens on an address and hands over each client that has finished its handshake. Slow, silent
// and garbage-sending clients delay nobody.
class Listener {
 public:
  // Called on the listener's thread, one at a time; must not block.
  using OnConnection = std::function<void(std::unique_ptr<Connection> connection)>;

  // Targets are those of docs/design.md: unix:path, unix:///path, unix-abstract:name, locket:name,
  // and TCP spellings ("localhost:50051"), which meet on an abstract name. And two for a socket
  // that listens already, opened by another process: fd:3 is the descriptor of that number,
  // systemd:name the one of that name among those that a service manager passed (LISTEN_FDS,
  // LISTEN_FDNAMES), systemd: the only one. Its type is SOCK_SEQPACKET (ListenSequentialPacket=).
  // It is duplicated: the descriptor stays the caller's, and so does the socket's file. Several
  // processes may listen on one.
  //
  // Errors: INVALID_ARGUMENT for an address that cannot be, ALREADY_EXISTS where a live process
  // listens there, RESOURCE_EXHAUSTED, PERMISSION_DENIED, or what the system call said.
  static absl::StatusOr<std::unique_ptr<Listener>> Listen(const std::string& target,
                                                          ListenOptions options,
                                                          OnConnection on_connection);

  // Stops listening, removes the socket's path if it is still ours, drops unfinished handshakes and
  // waits for a running callback. Connections handed over live on. Not to be called by the
  // callback.
  virtual ~Listener() = default;

  // The TCP port that the target stands for, chosen if it was 0; 1 for every other target.
  virtual int port() const = 0;
};

struct ConnectOptions {
  SpinOptions spin;
  // Servers that are accepted.
  AllowedPeers allowed_servers;
  // As in ListenOptions.
  bool prefault = false;
  // As in ListenOptions.
  bool half_close = false;
  // The block for the server's upper layer.
  std::string block;
};

// Connects to a listener. Errors: INVALID_ARGUMENT for an address that cannot be, UNAVAILABLE where
// nobody listens ("unix:/p: No such file or directory"), where the server refuses, and where
// versions do not meet (both are named), DEADLINE_EXCEEDED, PERMISSION_DENIED (both uids are
// named), RESOURCE_EXHAUSTED.
absl::StatusOr<std::unique_ptr<Connection>> Connect(const std::string& target,
                                                    const ConnectOptions& options,
                                                    Deadline deadline);

struct ConnectionPair {
  std::unique_ptr<Connection> connecting;
  std::unique_ptr<Connection> accepting;
};

// Both ends in this process: the real rings over one mapping, for tests of higher floors and for
// threads that talk to each other. Each end's block reaches the other as in a handshake.
absl::StatusOr<ConnectionPair> CreatePair(const ListenOptions& options,
                                          const ConnectOptions& connect_options);

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_ENDPOINT_H_
