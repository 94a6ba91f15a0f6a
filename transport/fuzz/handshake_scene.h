// What the fuzzers of the handshake share: messages that are right but for what the input changes,
// a pair of sockets, and a count of open descriptors.
#ifndef LOCKET_TRANSPORT_FUZZ_HANDSHAKE_SCENE_H_
#define LOCKET_TRANSPORT_FUZZ_HANDSHAKE_SCENE_H_

#include <fcntl.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <thread>

#include "locket/tools/fuzz_input.h"
#include "locket/transport/deadline.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/internal/close_aside.h"
#include "locket/transport/internal/handshake_messages.h"
#include "locket/transport/internal/segment.h"
#include "locket/transport/internal/unique_fd.h"

namespace locket::transport {

inline constexpr uint64_t kFuzzedRingSize = 4096;

struct FuzzedSockets {
  internal::UniqueFd victim;
  internal::UniqueFd peer;
};

inline FuzzedSockets MakeFuzzedSockets() {
  int sockets[2];
  fuzz::Require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets) == 0,
                "no socket pair");
  const int on = 1;
  setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  return {internal::UniqueFd(sockets[0]), internal::UniqueFd(sockets[1])};
}

// Of the first 512 numbers: a victim leaks none. (256 are in use at most.) What is closed on
// another thread counts as closed.
inline int OpenDescriptors() {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (internal::ClosingAside() > 0 && !deadline.passed()) std::this_thread::yield();
  int open = 0;
  for (int fd = 0; fd < 512; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) ++open;
  }
  return open;
}

inline ConnectOptions FuzzedConnectOptions() {
  ConnectOptions options;
  options.block = "block";
  return options;
}

// A Welcome that is right for memory with rings of kFuzzedRingSize.
inline internal::Welcome GoodWelcome() {
  const internal::SegmentGeometry geometry{kFuzzedRingSize, 4096};
  internal::Welcome welcome;
  welcome.version = internal::kMaxVersion;
  welcome.segment_size = geometry.segment_size();
  welcome.ring_size = geometry.ring_size;
  welcome.ring_offset = geometry.ring_offset;
  return welcome;
}

// A message: a good one of the kind that the input says, with its tail, and with the bytes changed
// that the input says; or bytes of the input alone.
inline std::string TakeMessage(fuzz::Input& input) {
  const auto kind = input.Take<uint8_t>();
  const std::string tail = input.TakeBytes(input.Take<uint8_t>());
  std::string bytes;
  switch (kind % 6) {
    case 0:
      return tail;
    case 1:
      bytes = internal::Encode(internal::Hello(), tail);
      break;
    case 2:
      bytes = internal::Encode(GoodWelcome(), tail);
      break;
    case 3:
      bytes = internal::Encode(internal::Mapped(), tail);
      break;
    case 4:
      bytes = internal::Encode(internal::Sealed(), tail);
      break;
    case 5:
      bytes = internal::Encode(internal::Refused(), tail);
      break;
  }
  for (int changes = input.Take<uint8_t>() % 16; changes > 0; --changes) {
    const auto at = input.Take<uint8_t>();
    bytes[at % bytes.size()] = static_cast<char>(input.Take<uint8_t>());
  }
  if (const auto cut = input.Take<uint8_t>(); cut > 0 && cut < bytes.size()) {
    bytes.resize(bytes.size() - cut);
  }
  return bytes;
}

}  // namespace locket::transport

#endif  // LOCKET_TRANSPORT_FUZZ_HANDSHAKE_SCENE_H_
