// One call on the server's side: its request, its handler, its one answer.
#ifndef LOCKET_RPC_INTERNAL_SERVER_CALL_H_
#define LOCKET_RPC_INTERNAL_SERVER_CALL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "google/protobuf/message_lite.h"
#include "locket/rpc/internal/buffer.h"
#include "locket/rpc/internal/sender.h"
#include "locket/rpc/internal/server_threads.h"
#include "locket/rpc/server_context.h"
#include "locket/rpc/service.h"
#include "locket/rpc/status.h"
#include "locket/transport/deadline.h"

namespace locket::internal {

class ServerConnection;

// Who cancelled a call. The first stays: it decides how the call ends, whatever its handler, who
// may see IsCancelled() at once, returns then.
enum class CancelledBy : uint8_t {
  kNobody,
  kClient,  // Or the end of the connection: nobody reads the answer.
  kServer,  // ServerContext::TryCancel().
  kShutdown,
};

// Belongs to its connection, which uses it again for later calls.
//
//   free ──START──> assembling ──request whole, or refused──> running ──Run() has returned──> free
//
// While it assembles, it is the reading thread's; while it runs, the thread's that runs it. It is
// *open* under its id from the START until its FINISH goes into the ring. The handler's end,
// TryCancel() and the server's Shutdown() may all want to send that, and may all wait for room: the
// first to get it closes the call, and the others find it closed.
//
// Thread safety: cancelled(), TryCancel() and GaveUp() from any thread.
class ServerCall final : public Readable::Work, public RoomWaiter {
 public:
  explicit ServerCall(ServerConnection& connection) : connection_(connection), context_(this) {}

  // ---- Reading thread

  // Makes a free call ready. `handler` may be null if it is refused before it runs.
  void Reset(uint32_t id, UnaryHandler* handler, transport::Deadline deadline, size_t size);

  // No handler will run: the call is answered with this.
  void Refuse(Status status, bool not_begun = false);
  bool refused() const { return refused_; }

  // `size` bytes of the request. False where there is no memory for it.
  [[nodiscard]] bool Append(const uint8_t* data, size_t size) {
    return request_.Append(data, size, request_size_);
  }
  size_t request_size() const { return request_size_; }
  size_t missing_bytes() const { return request_size_ - request_.size(); }

  // ---- Running thread

  // Answers the call. Throws nothing; lets pthread_exit() in a handler through, after an answer.
  void Run() override;

  // ---- Open under an id: any thread

  bool IsOpen(uint32_t id) const {
    return open_as_.load(std::memory_order_acquire) == uint64_t{id} + 1;
  }
  // False if it is not open under the id (any more). acq_rel: who finds it closed sees why.
  bool Close(uint32_t id) {
    uint64_t open = uint64_t{id} + 1;
    return open_as_.compare_exchange_strong(open, kNotOpen, std::memory_order_acq_rel,
                                            std::memory_order_acquire);
  }
  // By the reading thread at the START, and by whoever has just closed it and cannot answer.
  void Open(uint32_t id) { open_as_.store(uint64_t{id} + 1, std::memory_order_release); }

  // ---- Any thread, while open or running

  void SetCancelled(CancelledBy by) {
    CancelledBy nobody = CancelledBy::kNobody;
    // release: whoever sees it sees what led to it. relaxed: the first stays.
    cancelled_by_.compare_exchange_strong(nobody, by, std::memory_order_release,
                                          std::memory_order_relaxed);
  }
  CancelledBy cancelled_by() const { return cancelled_by_.load(std::memory_order_acquire); }
  bool cancelled() const { return cancelled_by() != CancelledBy::kNobody || deadline_.passed(); }
  void TryCancel();
  transport::Deadline deadline() const { return deadline_; }
  // The same on the system clock: computed when it is first asked for, the same from then on.
  std::chrono::system_clock::time_point system_deadline();

  // How the call ends if it ends now and its handler says `status`: a cancellation on this side, or
  // a deadline that has passed, goes before an error of the handler; the former before OK, too.
  Status Verdict(const Status& status) const;

  // For the pieces of a response: the client wants no more of it.
  bool GaveUp() override { return cancelled(); }

  uint32_t id() const { return id_; }

  // Guarded by the connection's lock.
  bool running = false;

 private:
  void RunHandler();
  // Makes messages_ those of handler_, and fills the request. Answers the call where that fails.
  bool ReadRequest();
  // Each of these answers the call, unless it is answered already. If one throws, it is not.
  void Respond(const google::protobuf::MessageLite& response);
  void FinishWith(const Status& status, bool not_begun = false);
  // The same, where nothing may be thrown: with the code alone if there is no memory for a text.
  void FinishInNeed(StatusCode code, const char* text) noexcept;
  // Ready for the next call. Keeps the messages, unless they hold much memory.
  void ForgetMessages();

  ServerConnection& connection_;
  ServerContext context_;

  uint32_t id_ = 0;
  UnaryHandler* handler_ = nullptr;
  transport::Deadline deadline_ = transport::Deadline::Infinite();
  size_t request_size_ = 0;
  Buffer request_;

  // Of this handler, which most often is the next call's, too.
  std::unique_ptr<UnaryMessages> messages_;
  UnaryHandler* messages_of_ = nullptr;
  // Bytes that have gone through messages_ since their memory was looked at. A response that nobody
  // has measured counts as endless.
  size_t unseen_bytes_ = 0;
  bool response_measured_ = false;

  bool refused_ = false;
  bool refused_not_begun_ = false;
  Status refusal_;

  // The id under which it is open, and 1.
  static constexpr uint64_t kNotOpen = 0;
  std::atomic<uint64_t> open_as_{kNotOpen};

  // Set by the reading thread, Shutdown() and TryCancel(); cleared between calls.
  std::atomic<CancelledBy> cancelled_by_{CancelledBy::kNobody};

  // Ticks of the system clock; kUnasked until a handler asks.
  static constexpr int64_t kUnasked = INT64_MIN;
  std::atomic<int64_t> system_deadline_{kUnasked};
};

}  // namespace locket::internal

#endif  // LOCKET_RPC_INTERNAL_SERVER_CALL_H_
