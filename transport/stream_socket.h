// A connected socket over shared memory: a stream of bytes, and of records without copies.
#ifndef LOCKET_TRANSPORT_STREAM_SOCKET_H_
#define LOCKET_TRANSPORT_STREAM_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/socket_options.h"

namespace locket::transport {

namespace internal {
class StreamCore;
}  // namespace internal

// A received record, where it lies in shared memory, or none. It keeps the mapping: the bytes stay
// readable until it is released or destroyed, whatever happens to its socket: Close(), the peer's
// death, the socket's destruction. Its space goes back to the writer then, not before.
//
// A hostile peer may change the bytes at any time: copy what you check before you check it.
//
// Thread safety: as that of a reading call of its socket, while the socket is there.
class ReceivedRecord {
 public:
  ReceivedRecord();
  ~ReceivedRecord();  // Release().
  ReceivedRecord(ReceivedRecord&& other) noexcept;
  ReceivedRecord& operator=(ReceivedRecord&& other) noexcept;

  // False for none: nothing received, the end of the stream, released, or moved from.
  bool valid() const { return core_ != nullptr; }

  const uint8_t* data() const { return record_.data; }
  size_t size() const { return record_.size; }

  void Release();

 private:
  friend class StreamSocket;
  ReceivedRecord(std::shared_ptr<internal::StreamCore> core, Record record);

  std::shared_ptr<internal::StreamCore> core_;
  Record record_;
};

enum class ShutdownHow { kRead, kWrite, kBoth };

struct StreamSocketPair;

// One end of a connection between two processes, or two threads of one. Bytes arrive in order,
// exactly once; what the other side did not flush before it died never arrives.
//
// Writes are buffered: Write() sends whenever a large record is full, and Flush() sends the rest.
// Who waits for an answer flushes first. Reads take whatever has come.
//
// Both forms share one stream, and may be mixed: Reserve() flushes what Write() has buffered,
// Receive() returns the rest of a record that Read() has begun. To Read() the records' limits mean
// nothing; to Receive() what one Reserve() and Commit() sent is one record.
//
// Thread safety: one thread at a time writes (Write to Commit, Shutdown(kWrite)), one thread at a
// time reads (Read to TryReceive, Shutdown(kRead)), the two independently of each other. Everything
// else is callable from any thread; Close() ends whatever the two are blocked in.
//
// Waiting: a call without a deadline waits until it can go on, Close() is called, or the peer
// closes or dies, which it notices at once. Signals do not interrupt, SIGPIPE is never raised.
//
// Errors of all calls, besides their own:
//   CANCELLED            this side has called Close()
//   UNAVAILABLE          the peer died; for a write also: it closed the connection, or reads no
//   more INTERNAL             the peer broke the format; the connection is closed DEADLINE_EXCEEDED
//   the deadline passed; nothing is lost, call again FAILED_PRECONDITION  the call is not allowed
//   now: a write after Shutdown(kWrite), a read while
//                        a record is in use
//
// Lifetime: the destructor must run after every other call has returned. A forked child must not
// use its parent's sockets; that it exits does not disturb them.
class StreamSocket {
 public:
  // Connects to a ListenerSocket. Addresses are the targets of endpoint.h: unix:path,
  // unix:///path, unix-abstract:name, locket:name, or a port ("50051"), which means an abstract
  // name of this network namespace. Errors: as Connect() of endpoint.h; UNAVAILABLE also where
  // something else than a ListenerSocket listens there, RESOURCE_EXHAUSTED where its backlog is
  // full.
  static absl::StatusOr<std::unique_ptr<StreamSocket>> Connect(const std::string& address,
                                                               const SocketOptions& options,
                                                               Deadline deadline);

  // Both ends of a connection, for two threads of this process.
  static absl::StatusOr<StreamSocketPair> CreatePair(const SocketOptions& options = {});

  ~StreamSocket();  // Close().
  StreamSocket(const StreamSocket&) = delete;
  StreamSocket& operator=(const StreamSocket&) = delete;

  // ---- Bytes

  // Reads 1 to `size` bytes, as many as there are, and waits for the first. 0 is the end of the
  // stream: the peer has ended it (Shutdown(), Close(), exit()) and everything that it flushed was
  // read. Where the peer died instead, everything it flushed is read first, and then comes the
  // error.
  absl::StatusOr<size_t> Read(void* data, size_t size, Deadline deadline = Deadline::Infinite());

  // As Read(), but 0 also where nothing has come yet: end_of_file() tells.
  absl::StatusOr<size_t> TryRead(void* data, size_t size);

  // True once a read has met the end of the stream. For the reading thread.
  bool end_of_file() const;

  // Takes all of the bytes, and waits for room where the ring is full. Returns how many it took:
  // `size`, or fewer where the deadline passed, but at least one. They are the peer's after
  // Flush(), or earlier.
  absl::StatusOr<size_t> Write(const void* data, size_t size,
                               Deadline deadline = Deadline::Infinite());

  // As Write(), but takes what there is room for: 0 where ring and buffer are full.
  absl::StatusOr<size_t> TryWrite(const void* data, size_t size);

  // Sends what Write() has buffered: the peer can read it from then on, also if this process dies.
  absl::Status Flush(Deadline deadline = Deadline::Infinite());

  // As Flush(); false where the ring has no room for it now.
  absl::StatusOr<bool> TryFlush();

  // ---- Records

  // Bytes of a record at most.
  size_t max_record() const;

  // Room for a record of `size` bytes, to be filled in place; waits for it. Valid until Commit(),
  // the next call that writes, or the socket's destruction; Close() does not take it away. What
  // lies there is not zeroed. RESOURCE_EXHAUSTED for more than max_record() bytes.
  absl::StatusOr<uint8_t*> Reserve(size_t size, Deadline deadline = Deadline::Infinite());

  // As Reserve(); null where the ring has no room now.
  absl::StatusOr<uint8_t*> TryReserve(size_t size);

  // Sends the first `size` bytes of the reservation, at most as many as were reserved, as one
  // record, at once. INVALID_ARGUMENT for more; FAILED_PRECONDITION without a reservation.
  absl::Status Commit(size_t size);

  // The next record; waits for it. Not valid() at the end of the stream, which is as in Read(). One
  // record at a time is in use: until its release the reading calls are FAILED_PRECONDITION.
  absl::StatusOr<ReceivedRecord> Receive(Deadline deadline = Deadline::Infinite());

  // As Receive(), but not valid() also where none has come yet: end_of_file() tells.
  absl::StatusOr<ReceivedRecord> TryReceive();

  // ---- The end

  // Ends one direction, or both; the other goes on. kWrite flushes first what is buffered, which
  // may wait or fail; the peer then reads everything and the end of the stream. kRead: this side
  // reads the end of the stream from now on, and the peer's writes fail with UNAVAILABLE, at the
  // latest when the ring is full.
  absl::Status Shutdown(ShutdownHow how, Deadline deadline = Deadline::Infinite());

  // Ends both directions at once, from any thread: blocked calls return. The peer reads everything
  // that was flushed, then the end of the stream. What was not flushed is not sent. Idempotent.
  // exit() closes what is open as Close() does (_exit() and signals do not: that is a death).
  void Close();

  // Who the kernel says is at the other end.
  const PeerIdentity& peer() const;

  // The connection beneath, for WaitSet::Add() (wait_set.h) of an accepted socket, and its Remove()
  // before the socket is destroyed. When Wait() returns the socket's tag, read until nothing comes
  // any more (TryRead(), TryReceive()), and then wait again.
  Connection* connection();

 private:
  friend class ListenerSocket;
  explicit StreamSocket(std::shared_ptr<internal::StreamCore> core);

  absl::StatusOr<ReceivedRecord> ReceiveUntil(const Deadline* until);

  const std::shared_ptr<internal::StreamCore> core_;
};

struct StreamSocketPair {
  std::unique_ptr<StreamSocket> first;
  std::unique_ptr<StreamSocket> second;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_STREAM_SOCKET_H_
