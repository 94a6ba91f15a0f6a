// One thread waits for records of many connections.
#ifndef LOCKET_TRANSPORT_WAIT_SET_H_
#define LOCKET_TRANSPORT_WAIT_SET_H_

#include <memory>

#include "absl/status/statusor.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"

namespace locket::transport {

// Waits for records on the accepting ends of connections (endpoint.h). Connections that talk are
// spun on, silent ones cost nothing: each has an eventfd of its own in one edge-triggered epoll.
//
// Thread safety: Wait() and Remove() by one thread at a time (who hands over to another thread does
// so with a release-acquire pair); Add() and Wake() by any thread.
//
// Ownership: borrows the connections; a connection outlives its place in the set.
class WaitSet {
 public:
  // RESOURCE_EXHAUSTED where the process has no descriptor left.
  static absl::StatusOr<std::unique_ptr<WaitSet>> Create();

  WaitSet() = default;
  virtual ~WaitSet() = default;
  WaitSet(const WaitSet&) = delete;
  WaitSet& operator=(const WaitSet&) = delete;

  // Waits for `connection` too, an accepting end; `tag` (not null) is what Wait() returns for it.
  virtual absl::Status Add(Connection* connection, void* tag) = 0;

  // Waits for it no longer. Wait() returns its tag no more.
  virtual void Remove(Connection* connection) = 0;

  // The tag of a connection whose TryReceive() is worth a call: it has a record, or has ended.
  // Receive one record (or the end: then Remove it) and call Wait() again; connections take turns.
  // Null when Wake() was called, before anything else, or the deadline passed.
  virtual void* Wait(Deadline deadline) = 0;

  // Makes the current Wait(), or else the next one, return null.
  virtual void Wake() = 0;

  // True while a thread sleeps in Wait() (not while it spins): no record has come for a while.
  virtual bool parked() const = 0;
};

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_WAIT_SET_H_
