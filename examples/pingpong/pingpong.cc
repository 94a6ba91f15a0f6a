// Sends records to and fro between two processes, and says how long a round trip takes:
//
//   pingpong serve ADDRESS     answers one client after the other, until it is killed
//   pingpong ping ADDRESS      measures
//
// A request says how large its answer is to be.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "locket/transport/listener_socket.h"
#include "locket/transport/stream_socket.h"

ABSL_FLAG(uint32_t, request, 4, "ping: bytes of a request, at least 4");
ABSL_FLAG(uint32_t, reply, 1024, "ping: bytes of a reply");
ABSL_FLAG(uint32_t, rounds, 100000, "ping: round trips that are measured, after a tenth as many");

namespace {

using locket::transport::Deadline;
using locket::transport::ListenerSocket;
using locket::transport::ReceivedRecord;
using locket::transport::StreamSocket;

// Sends a record of `size` bytes that starts with `first`.
absl::Status Send(StreamSocket& socket, size_t size, uint32_t first) {
  const absl::StatusOr<uint8_t*> room = socket.Reserve(size);
  if (!room.ok()) return room.status();
  std::memset(*room, 'x', size);
  std::memcpy(*room, &first, std::min(size, sizeof(first)));
  return socket.Commit(size);
}

// Answers until the client leaves.
absl::Status Answer(StreamSocket& socket) {
  for (;;) {
    absl::StatusOr<ReceivedRecord> request = socket.Receive();
    if (!request.ok()) return request.status();
    if (!request->valid()) return absl::OkStatus();
    uint32_t reply_size = 0;
    std::memcpy(&reply_size, request->data(), std::min(request->size(), sizeof(reply_size)));
    request->Release();
    absl::Status sent = Send(socket, reply_size, 0);
    if (!sent.ok()) return sent;
  }
}

absl::Status Serve(const std::string& address) {
  auto listener = ListenerSocket::Listen(address);
  if (!listener.ok()) return listener.status();
  std::printf("Listening on %s\n", (*listener)->address().c_str());
  std::fflush(stdout);
  for (;;) {
    auto client = (*listener)->Accept();
    if (!client.ok()) return client.status();
    const absl::Status end = Answer(**client);
    if (!end.ok()) std::fprintf(stderr, "pingpong: %s\n", end.ToString().c_str());
  }
}

absl::Status Ping(const std::string& address) {
  const uint32_t request = absl::GetFlag(FLAGS_request);
  const uint32_t reply = absl::GetFlag(FLAGS_reply);
  const uint32_t rounds = std::max(1u, absl::GetFlag(FLAGS_rounds));
  if (request < sizeof(reply)) return absl::InvalidArgumentError("--request must be 4 at least");
  auto socket = StreamSocket::Connect(address, {}, Deadline::After(std::chrono::seconds(10)));
  if (!socket.ok()) return socket.status();

  std::vector<double> micros;
  micros.reserve(rounds);
  for (uint32_t i = 0; i < rounds + rounds / 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    absl::Status sent = Send(**socket, request, reply);
    if (!sent.ok()) return sent;
    absl::StatusOr<ReceivedRecord> answer = (*socket)->Receive();
    if (!answer.ok()) return answer.status();
    if (!answer->valid() || answer->size() != reply) {
      return absl::DataLossError(absl::StrCat("an answer of ", answer->size(), " bytes"));
    }
    const auto end = std::chrono::steady_clock::now();
    if (i < rounds / 10) continue;
    micros.push_back(std::chrono::duration<double, std::micro>(end - start).count());
  }
  std::sort(micros.begin(), micros.end());
  std::printf("%u round trips, %u bytes there, %u back: median %.2f us, 99 %% %.2f us\n", rounds,
              request, reply, micros[rounds / 2], micros[static_cast<size_t>(rounds) * 99 / 100]);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures round trips: pingpong serve ADDRESS, pingpong ping ADDRESS.");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  const std::string what = arguments.size() == 3 ? arguments[1] : "";
  if (what != "serve" && what != "ping") {
    std::fprintf(stderr, "usage: pingpong serve|ping ADDRESS\n");
    return 2;
  }
  const absl::Status status = what == "serve" ? Serve(arguments[2]) : Ping(arguments[2]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "pingpong: %s\n", status.ToString().c_str());
  return 1;
}
