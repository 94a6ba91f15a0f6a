// A connection: records of bytes to and from one peer, over shared memory.
#ifndef LOCKET_TRANSPORT_CONNECTION_H_
#define LOCKET_TRANSPORT_CONNECTION_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "locket/transport/deadline.h"

namespace locket::transport {

// Who the kernel says is at the other end.
struct PeerIdentity {
  pid_t pid = 0;  // 0 where the peer lives in a PID namespace that this process cannot see.
  uid_t uid = 0;
  gid_t gid = 0;
};

// A received record: `size` bytes at `data`, in shared memory, which a hostile peer may change at
// any time: copy before you check. Valid until Release() of the connection it came from.
struct Record {
  const uint8_t* data = nullptr;
  size_t size = 0;
};

enum class ReadResult {
  kRecord,  // A record was received.
  kEmpty,   // None is there now.
  kEnd,     // None will ever come: everything committed before the end was received. The
            // connection may go on in the other direction (closed()).
};

enum class WaitResult {
  kReady,        // Try again: there is a record, or room.
  kDeadline,     // The deadline passed.
  kInterrupted,  // Interrupt() was called since `interrupts` was read.
  kClosed,       // The connection has ended, and status() says why; or this direction has.
};

// One end of a connection. Records arrive whole, in order, exactly once.
//
// Thread safety: one thread at a time writes (TryReserve to Commit, WaitWritable, CloseWrite), one
// thread at a time reads (TryReceive to Release, WaitReadable, CloseRead); the two sides are
// independent. The callers see to it, with a lock of their own; a wait need not hold the writers'
// lock as long as only one thread waits for room. Everything else is callable from any thread.
//
// Waits: every wait ends by its deadline, by Interrupt(), by Close() and by the peer's death, at
// once. Commit() never waits. Waiting spins for a while before it sleeps (SpinOptions of
// endpoint.h).
//
// Lifetime: Close() never unmaps: a record in use stays readable until the destructor, which must
// run after every other call has returned.
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // ---- Writing

  // The largest record, in bytes: a quarter of the ring, less the header.
  virtual size_t max_record() const = 0;

  // Room for a record of `size` bytes (at most max_record()), to be filled in place; null where the
  // ring has no room now, or nothing can be written any more. The bytes are sent by Commit() alone;
  // another TryReserve() before it replaces the reservation. What lies there is not zeroed, and a
  // hostile peer may read or change it.
  virtual uint8_t* TryReserve(size_t size) = 0;

  // Sends the first `size` bytes of the reservation, at most as many as were reserved, and wakes
  // the peer's reader if it sleeps.
  virtual void Commit(size_t size) = 0;

  // The same for a record that others follow at once: it saves looking whether the peer's reader
  // sleeps. One that is awake takes the record, one that sleeps may sleep on, until the next
  // Commit(), Flush() or TryReserve() that finds no room.
  virtual void CommitMore(size_t size) { Commit(size); }
  virtual void Flush() {}

  // Waits until TryReserve(size) would succeed. From a full ring it may come back only once an
  // eighth has become free: what it sends is behind the rest anyway.
  virtual WaitResult WaitWritable(size_t size, Deadline deadline, uint32_t interrupts) = 0;

  // Ends this direction: the peer reads what was committed before, then kEnd; it can go on writing.
  // Needs no room, never waits. Only where both ends were made with half_close (endpoint.h); else
  // it does nothing.
  virtual void CloseWrite() = 0;

  // True once TryReserve() will never succeed again: after CloseWrite(), when the peer reads no
  // more (CloseRead()), and after the connection's end.
  virtual bool write_closed() const = 0;

  // ---- Reading

  // Receives the next record. A record that breaks the format closes the connection with INTERNAL
  // and is kEnd.
  virtual ReadResult TryReceive(Record* record) = 0;

  // Gives the received record's space back to the writer, and wakes it if it waits for that much.
  virtual void Release() = 0;

  // Waits until TryReceive() would return something else than kEmpty. An accepting end that is in a
  // WaitSet is waited for there, and not here.
  virtual WaitResult WaitReadable(Deadline deadline, uint32_t interrupts) = 0;

  // Reads no more: TryReceive() is kEnd from now on, Release() does nothing, and the peer's writer
  // is told, so that it does not wait for room for ever. A record in use stays readable. Only with
  // half_close, as CloseWrite().
  virtual void CloseRead() = 0;

  // After kEnd: true if that was the peer's will (CloseWrite(), Close() or SayFarewell()), so that
  // nothing is missing; false if it died or broke the format, or if this side ended the reading.
  virtual bool ended_cleanly() const = 0;

  // ---- Any thread

  // A count that Interrupt(), Close() and the peer's death change. Read it before checking what a
  // wait waits for, give it to the wait, and no interrupt is lost.
  virtual uint32_t interrupts() const = 0;
  virtual void Interrupt() = 0;

  // Ends the connection: both sides' waits return, this side reads and writes nothing more; the
  // peer reads what was committed before, then the end. The first reason stays. Idempotent.
  virtual void Close(absl::Status reason) = 0;

  // Tells the peer that the end which it will see next is this side's will, as Close() does too;
  // ends nothing. For the exit of a process, whose connections the kernel closes.
  virtual void SayFarewell() = 0;

  // True from Close() or the peer's end on (records may still be there to receive).
  virtual bool closed() const = 0;

  // OK until closed; then why: UNAVAILABLE where the peer died or closed, INTERNAL where it broke
  // the format, or Close()'s reason.
  virtual absl::Status status() const = 0;

  virtual const PeerIdentity& peer() const = 0;

  // The opaque block that the peer's upper layer sent in the handshake.
  virtual const std::string& peer_block() const = 0;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_CONNECTION_H_
