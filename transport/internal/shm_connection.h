// A connection over a shared segment: two rings (ring.h), and the waiting on them
// (wait_protocol.h).
//
// In a WaitSet the accepting side's reader sleeps in epoll instead of on the futex: the waker rings
// the connection's doorbell (doorbell.h). The peer has it too, so this side neither reads nor
// writes it: what happens on this side (an end) reaches the WaitSet through EndListener.
#ifndef LOCKET_TRANSPORT_INTERNAL_SHM_CONNECTION_H_
#define LOCKET_TRANSPORT_INTERNAL_SHM_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "locket/transport/connection.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/handshake.h"
#include "locket/transport/internal/life.h"
#include "locket/transport/internal/peer_watch.h"
#include "locket/transport/internal/ring.h"
#include "locket/transport/internal/segment.h"
#include "locket/transport/internal/spin.h"
#include "locket/transport/mutex.h"

namespace locket::transport::internal {

enum class Side { kConnecting, kAccepting };

// A peer may wake a wait so often without providing what it waits for; then its connection ends. An
// honest one does so a few times at most: when its wake-up crosses the look by which the sleeper
// found what it provided, when that wake-up is late and meets the sleep after it, and when it has
// read the head that the wait before wanted. (The model check has seen three.)
inline constexpr int kMaxVainWakes = 64;

// Who must look at a connection when it ends.
class EndListener {
 public:
  // Any thread; must not block, or call the connection.
  virtual void OnEnd() = 0;

 protected:
  ~EndListener() = default;
};

class ShmConnection final : public Connection, private PeerWatched {
 public:
  // Also starts to watch the peer. RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<ShmConnection>> Create(Established established, Side side,
                                                               SpinOptions spin);
  ~ShmConnection() override;

  size_t max_record() const override { return writer_.max_record(); }
  uint8_t* TryReserve(size_t size) override;
  void Commit(size_t size) override;
  void CommitMore(size_t size) override;
  void Flush() override;
  WaitResult WaitWritable(size_t size, Deadline deadline, uint32_t interrupts) override;
  void CloseWrite() override;
  bool write_closed() const override;

  ReadResult TryReceive(Record* record) override;
  void Release() override;
  WaitResult WaitReadable(Deadline deadline, uint32_t interrupts) override;
  void CloseRead() override;
  bool ended_cleanly() const override;

  uint32_t interrupts() const override { return life_.interrupts(); }
  void Interrupt() override;
  void Close(absl::Status reason) override;
  void SayFarewell() override;
  bool closed() const override { return life_.ended(); }
  absl::Status status() const override;
  const PeerIdentity& peer() const override { return established_.peer; }
  const std::string& peer_block() const override { return established_.peer_block; }

  // ---- For the WaitSet; the accepting side's reader alone calls these.

  int doorbell() const { return established_.doorbell.get(); }
  int64_t spin_nanos() const { return spin_nanos_; }
  const SpinOptions& spin() const { return spin_; }
  // TryReceive() would return something else than kEmpty.
  bool Readable() const { return reader_.Ready() || closed(); }
  // WaitProtocol::Park(): true if there is nothing to read, and the peer will ring the doorbell.
  bool ParkReader();
  void UnparkReader();
  // Told of the end, at once if it has come already; null for nobody. When this returns, the
  // listener before it is not called any more. Any thread.
  void SetEndListener(EndListener* listener);

 private:
  ShmConnection(Established established, Side side, SpinOptions spin);

  // relaxed: it orders nothing.
  bool end_written() const { return end_written_.load(std::memory_order_relaxed); }

  void OnPeerGone(absl::Status reason) override;
  void End(Stage stage, absl::Status reason);
  bool MayFollowTheEnd();
  void WakeReader();
  void WakeWriter(uint64_t head);

  bool IsThereSoon();
  template <typename Ready>
  WaitResult Wait(std::atomic<uint32_t>& state, SpinTuner& tuner, Deadline deadline,
                  uint32_t interrupts, Ready ready);

  Established established_;
  const Side side_;
  const pid_t owner_;  // The process that made the connection.
  const SpinOptions spin_;
  const int64_t spin_nanos_;  // spin_.limit, or 0 beside this peer.
  RingControl& outgoing_;
  RingControl& incoming_;
  PeerWatch* watch_ = nullptr;
  uint64_t watch_id_ = 0;

  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  EndListener* end_listener_ ABSL_GUARDED_BY(mutex_) = nullptr;

  // Read by every thread that waits, written when something ends or interrupts: a line of its own.
  alignas(64) Life life_;

  // One thread writes, another reads: lines of their own.
  alignas(64) RingWriter writer_;
  SpinTuner write_tuner_;
  bool look_due_ = false;  // CommitMore() has published what WakeReader() did not follow.
  // By CloseWrite(); a wait for room, and write_closed(), may look from other threads.
  std::atomic<bool> end_written_{false};
  alignas(64) RingReader reader_;
  SpinTuner read_tuner_;
  // For IsThereSoon().
  bool stream_ = false;
  uint64_t sent_before_ = 0;
  // Written by the reader; other threads only ask how the connection ended.
  // The reader's own: where a dead peer's records end at the latest; 0 before it is asked.
  uint64_t last_head_ = 0;
  std::atomic<bool> end_read_{false};
  std::atomic<bool> reading_ended_{false};  // By CloseRead().
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_SHM_CONNECTION_H_
