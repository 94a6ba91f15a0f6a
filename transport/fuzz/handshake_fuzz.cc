// Either side of the handshake, whose peer sends messages that the input makes. (What a peer can do
// with descriptors is descriptor_fuzz's.)
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "locket/tools/fuzz_input.h"
#include "locket/transport/fuzz/handshake_scene.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/handshake.h"
#include "locket/transport/internal/quota.h"
#include "locket/transport/internal/socket.h"

namespace locket::transport {
namespace {

using fuzz::Input;
using fuzz::Require;
using internal::AcceptHandshake;
using internal::Segment;
using internal::UniqueFd;

void Accept(Input& input) {
  FuzzedSockets sockets = MakeFuzzedSockets();
  ListenOptions options;
  options.ring_size = kFuzzedRingSize;
  options.negotiate = [](const std::string& block) -> absl::StatusOr<std::string> {
    Require(block.size() <= kMaxBlockSize, "a block that is too large");
    if (block == "no") return absl::UnavailableError("no");
    return block;
  };
  AcceptHandshake handshake(
      std::move(sockets.victim), options,
      std::make_shared<internal::Quota>(options.max_connections, options.max_memory));
  while (!input.empty()) {
    internal::SendMessage(sockets.peer.get(), TakeMessage(input)).IgnoreError();
    const auto progress = handshake.Advance();
    if (!progress.ok()) return;
    if (*progress == AcceptHandshake::Progress::kMore) continue;
    const internal::Established established = handshake.Take();
    Require(established.segment != nullptr && established.socket.valid(),
            "done without the memory");
    return;
  }
}

// All that the server will say is there before the client begins, and then the end of file: nobody
// waits.
void Connect(Input& input) {
  FuzzedSockets sockets = MakeFuzzedSockets();
  const std::unique_ptr<Segment> segment = *Segment::Create(kFuzzedRingSize);
  const UniqueFd doorbell = *internal::CreateDoorbell();
  for (int i = 0; i < 4 && !input.empty(); ++i) {
    const std::string bytes = TakeMessage(input);
    if ((input.Take<uint8_t>() & 1) == 0) {
      internal::SendMessage(sockets.peer.get(), bytes, {segment->descriptor(), doorbell.get()})
          .IgnoreError();
    } else {
      internal::SendMessage(sockets.peer.get(), bytes).IgnoreError();
    }
  }
  shutdown(sockets.peer.get(), SHUT_WR);
  const auto established = internal::ConnectHandshake(std::move(sockets.victim),
                                                      FuzzedConnectOptions(), Deadline::Infinite());
  // The memory is not sealed for good, so nothing can come of it.
  Require(!established.ok(), "connected to a server that did not seal");
}

}  // namespace
}  // namespace locket::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace locket::transport;
  const int open = OpenDescriptors();
  locket::fuzz::Input input(data, size);
  if ((input.Take<uint8_t>() & 1) != 0) {
    Connect(input);
  } else {
    Accept(input);
  }
  locket::fuzz::Require(OpenDescriptors() == open, "a descriptor leaked");
  return 0;
}
