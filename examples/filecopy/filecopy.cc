// Copies a file from one process to another, through shared memory:
//
//   filecopy receive ADDRESS FILE     waits for one sender, and writes FILE
//   filecopy send ADDRESS FILE        sends FILE
//
// The file is read from the disk into the ring, and written from the ring to the disk: no copy in
// between. The sender ends its direction behind the last byte; the receiver answers when it has
// everything. A sender that dies is an error, never a short file.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locket/transport/listener_socket.h"
#include "locket/transport/stream_socket.h"

ABSL_FLAG(uint64_t, capacity, uint64_t{1} << 20,
          "receive: bytes of the ring; any file crosses any ring");

namespace {

using locket::transport::Deadline;
using locket::transport::ListenerSocket;
using locket::transport::ReceivedRecord;
using locket::transport::ShutdownHow;
using locket::transport::SocketOptions;
using locket::transport::StreamSocket;

constexpr char kDone[] = "done";

absl::Status WriteAll(int file, const uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t put = write(file, data, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return absl::ErrnoToStatus(errno, "write");
    data += put;
    size -= static_cast<size_t>(put);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Send(StreamSocket& socket, int file) {
  uint64_t total = 0;
  for (;;) {
    const absl::StatusOr<uint8_t*> room = socket.Reserve(socket.max_record());
    if (!room.ok()) return room.status();
    ssize_t got;
    do {
      got = read(file, *room, socket.max_record());
    } while (got < 0 && errno == EINTR);
    if (got < 0) return absl::ErrnoToStatus(errno, "read");
    if (got == 0) break;
    absl::Status sent = socket.Commit(static_cast<size_t>(got));
    if (!sent.ok()) return sent;
    total += static_cast<uint64_t>(got);
  }
  absl::Status ended = socket.Shutdown(ShutdownHow::kWrite);
  if (!ended.ok()) return ended;
  absl::StatusOr<ReceivedRecord> answer = socket.Receive();
  if (!answer.ok()) return answer.status();
  if (!answer->valid()) return absl::DataLossError("the receiver did not store the file");
  return total;
}

absl::StatusOr<uint64_t> Receive(StreamSocket& socket, int file) {
  uint64_t total = 0;
  for (;;) {
    absl::StatusOr<ReceivedRecord> record = socket.Receive();
    if (!record.ok()) return record.status();
    if (!record->valid()) break;
    absl::Status written = WriteAll(file, record->data(), record->size());
    if (!written.ok()) return written;
    total += record->size();
  }
  const absl::StatusOr<size_t> answered = socket.Write(kDone, sizeof(kDone));
  if (!answered.ok()) return answered.status();
  absl::Status flushed = socket.Flush();
  if (!flushed.ok()) return flushed;
  return total;
}

absl::Status SendFile(const std::string& address, const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, path);
  const absl::Cleanup close_file = [file] { close(file); };
  auto socket = StreamSocket::Connect(address, {}, Deadline::After(std::chrono::seconds(10)));
  if (!socket.ok()) return socket.status();
  const absl::StatusOr<uint64_t> sent = Send(**socket, file);
  if (!sent.ok()) return sent.status();
  std::printf("sent %llu bytes\n", static_cast<unsigned long long>(*sent));
  return absl::OkStatus();
}

absl::Status ReceiveFile(const std::string& address, const std::string& path) {
  SocketOptions options;
  options.capacity = absl::GetFlag(FLAGS_capacity);
  auto listener = ListenerSocket::Listen(address, options);
  if (!listener.ok()) return listener.status();
  std::printf("Listening on %s\n", (*listener)->address().c_str());
  std::fflush(stdout);
  auto socket = (*listener)->Accept();
  if (!socket.ok()) return socket.status();

  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, path);
  const absl::Cleanup close_file = [file] { close(file); };
  const absl::StatusOr<uint64_t> received = Receive(**socket, file);
  if (!received.ok()) {
    unlink(path.c_str());  // Half a file is none.
    return received.status();
  }
  std::printf("received %llu bytes\n", static_cast<unsigned long long>(*received));
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Copies a file: filecopy receive ADDRESS FILE, filecopy send ADDRESS FILE.");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  const std::string what = arguments.size() == 4 ? arguments[1] : "";
  if (what != "send" && what != "receive") {
    std::fprintf(stderr, "usage: filecopy send|receive ADDRESS FILE\n");
    return 2;
  }
  const absl::Status status = what == "send" ? SendFile(arguments[2], arguments[3])
                                             : ReceiveFile(arguments[2], arguments[3]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "filecopy: %s\n", status.ToString().c_str());
  return 1;
}
