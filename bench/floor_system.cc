// The floor of floor.h as a System. For benchmarks where every wait sleeps it is a futex for each
// direction instead: the least that two processes need to wake each other in turn.
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/bench/floor.h"
#include "locket/bench/measure.h"
#include "locket/bench/system.h"

namespace locket::bench {
namespace {

constexpr char kPause[] = "pause";
constexpr char kNoPause[] = "no-pause";

// A larger message is several records.
constexpr size_t kPiece = size_t{1} << 16;

// What both ends have beside the rings.
struct Shared {
  alignas(128) uint64_t request_head;
  alignas(128) uint64_t reply_head;
  // The last request and the last reply that were sent.
  alignas(128) uint32_t request;
  alignas(128) uint32_t reply;
};

absl::StatusOr<Shared*> MapShared(const Setup& setup) {
  if (ftruncate(setup.memory_fd(), 2 * FloorRing::kBytes + sizeof(Shared)) != 0) {
    return absl::ErrnoToStatus(errno, "ftruncate of the floor's memory");
  }
  void* const mapped = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_POPULATE, setup.memory_fd(), 2 * FloorRing::kBytes);
  if (mapped == MAP_FAILED) return absl::ErrnoToStatus(errno, "mmap of the floor's heads");
  return static_cast<Shared*>(mapped);
}

// Two rings without space accounting: enough for one message at a time that is one record.
class RecordLink {
 public:
  static absl::StatusOr<RecordLink> Map(const Setup& setup) {
    if (absl::StatusOr<Shared*> shared = MapShared(setup); !shared.ok()) return shared.status();
    absl::StatusOr<FloorRing> requests = FloorRing::Map(setup.memory_fd(), 0);
    if (!requests.ok()) return requests.status();
    absl::StatusOr<FloorRing> replies = FloorRing::Map(setup.memory_fd(), FloorRing::kBytes);
    if (!replies.ok()) return replies.status();
    return RecordLink(*requests, *replies, setup.variant() == kPause);
  }

  void SendRequest(const std::string& bytes) { requests_.Write(bytes.data(), bytes.size()); }
  void ReceiveRequest(std::string& bytes) { requests_.Read(bytes.data(), bytes.size(), pause_); }
  void SendReply(const std::string& bytes) { replies_.Write(bytes.data(), bytes.size()); }
  void ReceiveReply(std::string& bytes) { replies_.Read(bytes.data(), bytes.size(), pause_); }

 private:
  RecordLink(FloorRing requests, FloorRing replies, bool pause)
      : requests_(requests), replies_(replies), pause_(pause) {}

  FloorRing requests_;
  FloorRing replies_;
  const bool pause_;
};

// Two streams.
class StreamLink {
 public:
  static absl::StatusOr<StreamLink> Map(const Setup& setup) {
    absl::StatusOr<Shared*> shared = MapShared(setup);
    if (!shared.ok()) return shared.status();
    absl::StatusOr<FloorRing> requests = FloorRing::Map(setup.memory_fd(), 0);
    if (!requests.ok()) return requests.status();
    absl::StatusOr<FloorRing> replies = FloorRing::Map(setup.memory_fd(), FloorRing::kBytes);
    if (!replies.ok()) return replies.status();
    return StreamLink(FloorStream(*requests, &(*shared)->request_head),
                      FloorStream(*replies, &(*shared)->reply_head), setup.variant() == kPause);
  }

  void SendRequest(const std::string& bytes) { Send(requests_, bytes); }
  void ReceiveRequest(std::string& bytes) { Receive(requests_, bytes); }
  void SendReply(const std::string& bytes) { Send(replies_, bytes); }
  void ReceiveReply(std::string& bytes) { Receive(replies_, bytes); }

 private:
  StreamLink(FloorStream requests, FloorStream replies, bool pause)
      : requests_(requests), replies_(replies), pause_(pause) {}

  void Send(FloorStream& stream, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      stream.Write(bytes.data() + at, std::min(kPiece, bytes.size() - at), pause_);
    }
  }
  void Receive(FloorStream& stream, std::string& bytes) {
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      stream.Read(bytes.data() + at, std::min(kPiece, bytes.size() - at), pause_);
    }
  }

  FloorStream requests_;
  FloorStream replies_;
  const bool pause_;
};

// A futex for each direction; the bytes are the count of messages.
class FutexLink {
 public:
  static absl::StatusOr<FutexLink> Map(const Setup& setup) {
    absl::StatusOr<Shared*> shared = MapShared(setup);
    if (!shared.ok()) return shared.status();
    return FutexLink(**shared);
  }

  void SendRequest(const std::string&) { Send(shared_.request, sent_); }
  void ReceiveRequest(std::string&) { Receive(shared_.request, received_); }
  void SendReply(const std::string&) { Send(shared_.reply, sent_); }
  void ReceiveReply(std::string&) { Receive(shared_.reply, received_); }

 private:
  explicit FutexLink(Shared& shared) : shared_(shared) {}

  static void Send(uint32_t& word, uint32_t& count) {
    // Release: pairs with the acquire in Receive().
    std::atomic_ref<uint32_t>(word).store(++count, std::memory_order_release);
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  static void Receive(uint32_t& word, uint32_t& count) {
    while (std::atomic_ref<uint32_t>(word).load(std::memory_order_acquire) == count) {
      syscall(SYS_futex, &word, FUTEX_WAIT, count, nullptr, nullptr, 0);
    }
    ++count;
  }

  Shared& shared_;
  uint32_t sent_ = 0;
  uint32_t received_ = 0;
};

template <class Link>
class FloorClient final : public Client {
 public:
  FloorClient(const Setup& setup, Link link)
      : setup_(setup),
        link_(std::move(link)),
        request_(setup.shape().request_bytes(), kMessage),
        reply_(setup.shape().reply_bytes(), '\0') {}

  absl::Status Call() override {
    link_.SendRequest(request_);
    link_.ReceiveReply(reply_);
    return absl::OkStatus();
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    if (setup_.pattern() == Setup::PING_PONG) {
      return MeasureCalls(plan, [this] { return Call(); });
    }
    return MeasureStream(
        plan,
        [this](bool last) {
          request_[0] = last ? kLastMessage : kMessage;
          link_.SendRequest(request_);
          return absl::OkStatus();
        },
        [this] {
          link_.ReceiveReply(reply_);
          return absl::OkStatus();
        });
  }

 private:
  const Setup setup_;
  Link link_;
  std::string request_;
  std::string reply_;
};

template <class Link>
absl::Status ServeOver(const Setup& setup, ParentLink& parent) {
  absl::StatusOr<Link> link = Link::Map(setup);
  if (!link.ok()) return link.status();
  // The loop below looks at nothing but its link.
  std::thread([&parent] {
    parent.WaitForStop();
    _exit(0);
  }).detach();
  const bool one_way = setup.pattern() == Setup::ONE_WAY;
  std::string request(setup.shape().request_bytes(), '\0');
  const std::string reply(setup.shape().reply_bytes(), 'p');
  parent.Ready();
  for (;;) {
    link->ReceiveRequest(request);
    if (!one_way || request[0] == kLastMessage) link->SendReply(reply);
  }
}

template <class Link>
absl::StatusOr<std::unique_ptr<Client>> ConnectOver(const Setup& setup) {
  absl::StatusOr<Link> link = Link::Map(setup);
  if (!link.ok()) return link.status();
  return std::make_unique<FloorClient<Link>>(setup, *std::move(link));
}

bool IsStream(const Setup& setup) {
  return setup.pattern() == Setup::ONE_WAY ||
         std::max(setup.shape().request_bytes(), setup.shape().reply_bytes()) > kPiece;
}

class FloorSystem final : public System {
 public:
  std::string name() const override { return "floor"; }
  std::vector<std::string> variants() const override { return {kPause, kNoPause}; }
  bool sleeps() const override { return false; }
  bool Does(const Setup& setup) const override { return setup.connections() == 0; }

  absl::Status Serve(const Setup& setup, ParentLink& parent) const override {
    if (setup.parked()) return ServeOver<FutexLink>(setup, parent);
    if (IsStream(setup)) return ServeOver<StreamLink>(setup, parent);
    return ServeOver<RecordLink>(setup, parent);
  }

  absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const override {
    if (setup.parked()) return ConnectOver<FutexLink>(setup);
    if (IsStream(setup)) return ConnectOver<StreamLink>(setup);
    return ConnectOver<RecordLink>(setup);
  }
};

}  // namespace

std::unique_ptr<System> MakeFloorSystem() { return std::make_unique<FloorSystem>(); }

}  // namespace locket::bench
