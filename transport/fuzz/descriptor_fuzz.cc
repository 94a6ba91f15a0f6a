// A server that sends its client descriptors of every kind, in any number, and changes the memory
// behind them until the last moment; and a client that sends a server descriptors it does not want.
// What a client accepts, it must be able to use: every page of it is read and written.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "locket/tools/fuzz_input.h"
#include "locket/transport/fuzz/handshake_scene.h"
#include "locket/transport/internal/doorbell.h"
#include "locket/transport/internal/handshake.h"
#include "locket/transport/internal/quota.h"
#include "locket/transport/internal/shm_connection.h"
#include "locket/transport/internal/socket.h"

namespace locket::transport {
namespace {

using fuzz::Input;
using fuzz::Require;
using internal::Segment;
using internal::UniqueFd;

constexpr size_t kMostDescriptors = 253;  // Linux's SCM_MAX_FD.

// Memory of a size, with seals and holes, as the input says: right, if it says 0 everywhere.
UniqueFd TakeMemory(Input& input) {
  const uint64_t good = GoodWelcome().segment_size;
  const uint64_t sizes[] = {good, good - 1, good + 4096, 0, 4096, good + 1};
  UniqueFd memory(memfd_create("fuzzed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const uint64_t size = sizes[input.Take<uint8_t>() % 6];
  if (ftruncate(memory.get(), static_cast<off_t>(size)) != 0) return memory;
  if (size > 0 && (input.Take<uint8_t>() & 1) == 0) {
    [[maybe_unused]] const int done = fallocate(memory.get(), 0, 0, static_cast<off_t>(size));
  }
  // F_SEAL_SEAL is 1, F_SEAL_SHRINK 2, F_SEAL_GROW 4, F_SEAL_WRITE 8, F_SEAL_FUTURE_WRITE 16.
  fcntl(memory.get(), F_ADD_SEALS, (F_SEAL_SHRINK | F_SEAL_GROW) ^ input.Take<uint8_t>());
  return memory;
}

UniqueFd TakeDescriptor(Input& input) {
  switch (input.Take<uint8_t>() % 12) {
    case 0:
      return TakeMemory(input);
    case 1:
      return *internal::CreateDoorbell();
    case 2:
      return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    case 3: {
      int pipe[2];
      Require(pipe2(pipe, O_CLOEXEC | O_NONBLOCK) == 0, "no pipe");
      close(pipe[0]);  // Who writes to it gets SIGPIPE.
      return UniqueFd(pipe[1]);
    }
    case 4:
      return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    case 5:
      return UniqueFd(open("/dev/zero", O_RDWR | O_CLOEXEC));
    case 6:
      return UniqueFd(open("/", O_PATH | O_CLOEXEC));
    case 7:
      return UniqueFd(open("/proc/self/mem", O_RDWR | O_CLOEXEC));
    case 8:
      return UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    case 9:
      return UniqueFd(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    case 10: {
      // A memory of its right size that can only be read.
      const UniqueFd memory = TakeMemory(input);
      const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
      return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    }
    default:
      return UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
}

// Unlike internal::SendMessage(), as many descriptors as the kernel takes.
void Send(int socket, const std::string& bytes, const std::vector<UniqueFd>& descriptors) {
  struct iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  struct msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    for (size_t i = 0; i < descriptors.size(); ++i) {
      const int fd = descriptors[i].get();
      memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(int));
    }
  }
  sendmsg(socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

std::vector<UniqueFd> TakeDescriptors(Input& input) {
  std::vector<UniqueFd> descriptors;
  const size_t count = input.Take<uint8_t>();
  if (count > 8) {
    // Many, of one kind: what matters is that none is left over.
    for (size_t i = 0; i < count && i < kMostDescriptors; ++i) {
      descriptors.emplace_back(open("/dev/null", O_RDWR | O_CLOEXEC));
    }
    return descriptors;
  }
  for (size_t i = 0; i < count; ++i) descriptors.push_back(TakeDescriptor(input));
  return descriptors;
}

void PunchOrTruncate(int memory, Input& input) {
  const auto what = input.Take<uint8_t>();
  const off_t at = 4096 * (input.Take<uint8_t>() % 4);
  if ((what & 1) != 0) {
    fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, 4096);
  }
  if ((what & 2) != 0) [[maybe_unused]]
    const int done = ftruncate(memory, at);
  if ((what & 4) != 0) fcntl(memory, F_ADD_SEALS, input.Take<uint8_t>());
}

// The server's part, on a thread of its own: it must wait for Mapped, since nobody can map what is
// sealed against writing.
void Serve(int socket, Input& input) {
  std::vector<UniqueFd> descriptors = TakeDescriptors(input);
  Send(socket, TakeMessage(input), descriptors);
  // Hello, then Mapped or the end of file.
  for (int i = 0; i < 2; ++i) {
    struct pollfd readable = {socket, POLLIN, 0};
    poll(&readable, 1, -1);
    char bytes[2048];
    if (recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
  if (!descriptors.empty()) {
    PunchOrTruncate(descriptors[0].get(), input);
    fcntl(descriptors[0].get(), F_ADD_SEALS,
          (F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) ^ input.Take<uint8_t>());
    PunchOrTruncate(descriptors[0].get(), input);
  }
  const std::string last = TakeMessage(input);
  Send(socket, last, TakeDescriptors(input));
  if (!descriptors.empty()) PunchOrTruncate(descriptors[0].get(), input);
  shutdown(socket, SHUT_WR);
}

void Use(internal::Established established) {
  volatile uint8_t* const header = reinterpret_cast<uint8_t*>(&established.segment->header());
  header[0] = header[0];
  for (const auto direction : {internal::kToAccepting, internal::kToConnecting}) {
    volatile uint8_t* const ring = established.segment->ring(direction);
    for (size_t at = 0; at < 2 * established.segment->geometry().ring_size; at += 4096) {
      ring[at] = ring[at];
    }
  }
  auto connection = internal::ShmConnection::Create(std::move(established),
                                                    internal::Side::kConnecting, SpinOptions());
  Require(connection.ok(), "an accepted server without a connection");
  if ((*connection)->TryReserve(1) != nullptr) (*connection)->Commit(1);
}

void Connect(Input& input) {
  FuzzedSockets sockets = MakeFuzzedSockets();
  std::thread server([&] { Serve(sockets.peer.get(), input); });
  auto established = internal::ConnectHandshake(std::move(sockets.victim), FuzzedConnectOptions(),
                                                Deadline::Infinite());
  if (established.ok()) Use(*std::move(established));
  server.join();
}

void Accept(Input& input) {
  FuzzedSockets sockets = MakeFuzzedSockets();
  ListenOptions options;
  options.ring_size = kFuzzedRingSize;
  internal::AcceptHandshake handshake(
      std::move(sockets.victim), options,
      std::make_shared<internal::Quota>(options.max_connections, options.max_memory));
  while (!input.empty()) {
    const std::string bytes = TakeMessage(input);
    Send(sockets.peer.get(), bytes, TakeDescriptors(input));
    const auto progress = handshake.Advance();
    if (!progress.ok() || *progress == internal::AcceptHandshake::Progress::kDone) return;
  }
}

}  // namespace
}  // namespace locket::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace locket::transport;
  // The watch of peers keeps descriptors of its own, once it is there.
  static const bool watching = internal::PeerWatch::Get().ok();
  locket::fuzz::Require(watching, "no watch of peers");
  const int open = OpenDescriptors();
  locket::fuzz::Input input(data, size);
  if ((input.Take<uint8_t>() & 1) != 0) {
    Accept(input);
  } else {
    Connect(input);
  }
  locket::fuzz::Require(OpenDescriptors() == open, "a descriptor leaked");
  return 0;
}
