// The floor of floor.h as a System: the server answers each record with one, for ever.
#include <errno.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "locket/bench/floor.h"
#include "locket/bench/measure.h"
#include "locket/bench/system.h"

namespace locket::bench {
namespace {

constexpr char kPause[] = "pause";
constexpr char kNoPause[] = "no-pause";

struct Rings {
  FloorRing requests;
  FloorRing replies;
};

absl::StatusOr<Rings> MapRings(const Setup& setup) {
  if (setup.shape().request_bytes() > FloorRing::kMaxPayload ||
      setup.shape().reply_bytes() > FloorRing::kMaxPayload) {
    return absl::InvalidArgumentError("larger than a record of the floor's ring");
  }
  if (ftruncate(setup.memory_fd(), 2 * FloorRing::kBytes) != 0) {
    return absl::ErrnoToStatus(errno, "ftruncate of the floor's memory");
  }
  absl::StatusOr<FloorRing> requests = FloorRing::Map(setup.memory_fd(), 0);
  if (!requests.ok()) return requests.status();
  absl::StatusOr<FloorRing> replies = FloorRing::Map(setup.memory_fd(), FloorRing::kBytes);
  if (!replies.ok()) return replies.status();
  return Rings{*requests, *replies};
}

class FloorClient final : public Client {
 public:
  FloorClient(const Setup& setup, Rings rings)
      : rings_(rings),
        pause_(setup.variant() == kPause),
        request_(setup.shape().request_bytes(), 'q'),
        reply_(setup.shape().reply_bytes(), '\0') {}

  absl::Status Call() override {
    rings_.requests.Write(request_.data(), request_.size());
    rings_.replies.Read(reply_.data(), reply_.size(), pause_);
    return absl::OkStatus();
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    return MeasureCalls(plan, [this] { return Call(); });
  }

 private:
  Rings rings_;
  const bool pause_;
  const std::string request_;
  std::string reply_;
};

class FloorSystem final : public System {
 public:
  std::string name() const override { return "floor"; }
  std::vector<std::string> variants() const override { return {kPause, kNoPause}; }
  bool sleeps() const override { return false; }

  absl::Status Serve(const Setup& setup, ParentLink& parent) const override {
    absl::StatusOr<Rings> rings = MapRings(setup);
    if (!rings.ok()) return rings.status();
    // The loop below looks at nothing but its rings.
    std::thread([&parent] {
      parent.WaitForStop();
      _exit(0);
    }).detach();
    const bool pause = setup.variant() == kPause;
    std::string request(setup.shape().request_bytes(), '\0');
    const std::string reply(setup.shape().reply_bytes(), 'p');
    parent.Ready();
    for (;;) {
      rings->requests.Read(request.data(), request.size(), pause);
      rings->replies.Write(reply.data(), reply.size());
    }
  }

  absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const override {
    absl::StatusOr<Rings> rings = MapRings(setup);
    if (!rings.ok()) return rings.status();
    return std::make_unique<FloorClient>(setup, *rings);
  }
};

}  // namespace

std::unique_ptr<System> MakeFloorSystem() { return std::make_unique<FloorSystem>(); }

}  // namespace locket::bench
