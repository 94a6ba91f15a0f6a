// The thread that accepts clients and carries through their handshakes, all at once.
#ifndef LOCKET_TRANSPORT_INTERNAL_ACCEPT_LOOP_H_
#define LOCKET_TRANSPORT_INTERNAL_ACCEPT_LOOP_H_

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/handshake.h"
#include "locket/transport/internal/listening_socket.h"
#include "locket/transport/internal/quota.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport::internal {

// One listener with its thread (locket-accept). The thread sleeps in epoll over the listening
// socket, the clients in their handshake and a waker; it never waits for one client.
class AcceptLoop final : public Listener {
 public:
  static absl::StatusOr<std::unique_ptr<AcceptLoop>> Start(
      std::unique_ptr<ListeningSocket> listening, ListenOptions options,
      OnConnection on_connection);
  ~AcceptLoop() override;

  int port() const override;

 private:
  // What epoll reports: one of the two, or a handshake by its id, so that the report of one that is
  // gone meets nothing.
  static constexpr uint64_t kWaker = 0;
  static constexpr uint64_t kListening = 1;
  static constexpr uint64_t kFirstHandshake = 2;
  using Handshakes = std::map<uint64_t, AcceptHandshake>;

  AcceptLoop(std::unique_ptr<ListeningSocket> listening, ListenOptions options,
             OnConnection on_connection)
      : owner_(getpid()),
        listening_(std::move(listening)),
        options_(std::move(options)),
        quota_(std::make_shared<Quota>(options_.max_connections, options_.max_memory)),
        on_connection_(std::move(on_connection)) {}

  void Run();
  void AcceptSome();
  void Advance(uint64_t id);
  void Finish(AcceptHandshake& handshake);
  void Drop(Handshakes::iterator handshake);
  void DropLate();
  void MakeRoom();
  void LogRefusal(const absl::Status& why);
  void WatchListening(bool on);
  Deadline NextDeadline() const;

  const pid_t owner_;
  std::unique_ptr<ListeningSocket> listening_;
  const ListenOptions options_;
  const std::shared_ptr<Quota> quota_;
  const OnConnection on_connection_;
  UniqueFd epoll_;
  UniqueFd waker_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;

  // The thread's own. By age: all have the same time, so the first is the one that is late first.
  Handshakes handshakes_;
  uint64_t next_id_ = kFirstHandshake;
  int64_t refusal_logged_at_ = 0;
  int refusals_unlogged_ = 0;
  // While the process has no descriptor to accept with: when to try again.
  Deadline resume_ = Deadline::Infinite();
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_ACCEPT_LOOP_H_
