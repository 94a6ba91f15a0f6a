// The server's end of a connection: its calls, what it reads, what it answers.
#ifndef LOCKET_RPC_INTERNAL_SERVER_CONNECTION_H_
#define LOCKET_RPC_INTERNAL_SERVER_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "google/protobuf/message_lite.h"
#include "locket/rpc/internal/frame.h"
#include "locket/rpc/internal/handshake.h"
#include "locket/rpc/internal/sender.h"
#include "locket/rpc/internal/server_call.h"
#include "locket/rpc/internal/service_methods.h"
#include "locket/rpc/status.h"
#include "locket/transport/connection.h"
#include "locket/transport/deadline.h"
#include "locket/transport/mutex.h"

namespace locket::internal {

// Limits of one server, in bytes.
struct ServerLimits {
  int64_t receive = 4 * 1024 * 1024;
  int64_t send = INT64_MAX;
};

// Thread safety: "reading" functions by the thread that owns the server's reading, all others by
// any.
//
// Lifetime: its owner keeps it until the connection has ended and no call of it runs any more: then
// End() returns true, or Recycle() says ConnectionIsOver().
//
// Invariants:
// (1) What belongs to the reading role (bound methods, calls that assemble) is touched in the role
//     alone; nothing in the role waits for room in the ring.
// (2) A call is closed under the send lock, with its FINISH in the ring the next moment. So it has
//     one FINISH, whoever may want to send another, and its id is in use until the client can have
//     read that: calls whose answers wait for room are bounded by calls_in_flight.
// (3) No piece of a response follows its FINISH: a piece is sent under the send lock, and while the
//     call is open.
// (4) A call in the table may have been answered, and even be another call by now: Find() looks
//     whether it is open under that id. Calls are destroyed with the connection alone.
class ServerConnection {
 public:
  // What a connection needs of its server.
  class Owner {
   public:
    // True once Shutdown() has begun: new calls are refused.
    virtual bool draining() const = 0;
    // A call has returned while draining.
    virtual void CallReturned() = 0;
    // Nothing uses the connection any more: the owner destroys it.
    virtual void ConnectionIsOver(ServerConnection* connection) = 0;

   protected:
    ~Owner() = default;
  };

  ServerConnection(Owner& owner, std::unique_ptr<transport::Connection> connection,
                   const Agreement& agreement, const ServiceMethods& methods,
                   const ServerLimits& limits);
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  transport::Connection& transport() { return *connection_; }
  const ServerLimits& limits() const { return limits_; }

  // ---- Reading

  // Takes one record. Returns a call that is ready to run, or null. *ended: nothing more will come.
  Readable::Work* Read(bool* ended);

  // After that: cancels all calls. True if none runs: the connection is over.
  bool End();

  // ---- Answering

  bool FitsInFinish(size_t message_size) const {
    return message_size <= sender_.max_record() - sizeof(FinishHeader);
  }

  // Each answers the call that is open under the id, unless it is answered already. They wait
  // for room until the connection ends, or `deadline`. What they throw (std::bad_alloc), they throw
  // before the answer. (The id beside the call, for those who do not run it.)
  void SendFinishOk(ServerCall& call, const google::protobuf::MessageLite& response, size_t size);
  void SendFinish(ServerCall& call, uint32_t id, const Status& status, bool not_begun,
                  transport::Deadline deadline = transport::Deadline::Infinite());

  // Sends a response that needs more than one record, while the call stays open. CANCELLED if
  // it stopped half-way, because the client wants it no more; RESOURCE_EXHAUSTED without memory for
  // it.
  StatusCode SendMessage(ServerCall& call, const google::protobuf::MessageLite& response,
                         size_t size);

  // Run() has ended; the call may be used again, and `this` may be gone afterwards. Throws nothing.
  void Recycle(ServerCall& call);

  // ---- Shutdown

  void SendGoAway() { sender_.SendOrOwe(MakeGoAway()); }
  // Calls that run.
  int running();
  // Marks calls that run as cancelled and answers them, as long as there is room until `deadline`.
  void CancelCalls(transport::Deadline deadline);
  void Close(const char* reason);

 private:
  Readable::Work* Take(const Frame& frame, std::string* violation);
  Readable::Work* TakeStart(const Frame& frame, std::string* violation);
  Readable::Work* TakeContinue(const Frame& frame, std::string* violation);
  Readable::Work* TakeCancel(const Frame& frame);
  bool FindHandler(const Frame& frame, UnaryHandler** handler, std::string* violation);
  Readable::Work* TakeBytes(ServerCall& call, Bytes bytes, bool running);
  ServerCall* Find(uint32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartRunning(ServerCall& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <typename Build>
  void SendLast(ServerCall& call, uint32_t id, size_t size, transport::Deadline deadline,
                const Build& build);

  Owner& owner_;
  const std::unique_ptr<transport::Connection> connection_;
  const Agreement agreement_;
  const ServiceMethods& methods_;
  const ServerLimits limits_;
  Sender sender_;

  // Reading: the handlers of bound numbers; null where the server has no such method.
  std::vector<UnaryHandler*> bound_;

  transport::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ServerCall*> table_ ABSL_GUARDED_BY(mutex_);  // By id; see (4), or null.
  std::vector<ServerCall*> free_calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<ServerCall>> calls_ ABSL_GUARDED_BY(mutex_);  // All that there are.
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERVER_CONNECTION_H_
