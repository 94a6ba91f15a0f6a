// What tests of stream sockets share.
#ifndef LOCKET_TRANSPORT_INTERNAL_STREAM_TESTING_H_
#define LOCKET_TRANSPORT_INTERNAL_STREAM_TESTING_H_

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/transport/listener_socket.h"
#include "locket/transport/stream_socket.h"

namespace locket::transport::internal {

inline Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }
inline Deadline InAMillisecond() { return Deadline::AfterNanos(1'000'000); }

// Who `here` is; `there` is the other end.
enum class Here { kPair, kConnecting, kAccepting };

inline std::string NameOf(const testing::TestParamInfo<Here>& info) {
  if (info.param == Here::kPair) return "Pair";
  return info.param == Here::kConnecting ? "Connecting" : "Accepting";
}

struct Ends {
  std::unique_ptr<StreamSocket> here;
  std::unique_ptr<StreamSocket> there;
};

inline Ends Make(Here who, const SocketOptions& options = {}) {
  Ends ends;
  if (who == Here::kPair) {
    auto pair = StreamSocket::CreatePair(options);
    EXPECT_TRUE(pair.ok()) << pair.status();
    ends.here = std::move(pair->first);
    ends.there = std::move(pair->second);
    return ends;
  }
  auto listener = ListenerSocket::Listen("0", options);
  EXPECT_TRUE(listener.ok()) << listener.status();
  auto connected = StreamSocket::Connect((*listener)->address(), options, Soon());
  EXPECT_TRUE(connected.ok()) << connected.status();
  auto accepted = (*listener)->Accept(Soon());
  EXPECT_TRUE(accepted.ok()) << accepted.status();
  ends.here = *std::move(connected);
  ends.there = *std::move(accepted);
  if (who == Here::kAccepting) std::swap(ends.here, ends.there);
  return ends;
}

inline SocketOptions SmallRing() {
  SocketOptions options;
  options.capacity = 4096;
  return options;
}

// Bytes that depend on their place, so that none can be missing or moved unseen.
inline std::string Data(size_t size) {
  std::string data(size, '\0');
  uint64_t state = size;
  for (char& c : data) {
    state = state * 6364136223846793005 + 1442695040888963407;
    c = static_cast<char>(state >> 56);
  }
  return data;
}

// Writes and flushes all of it.
inline void Send(StreamSocket& socket, const std::string& data) {
  const auto written = socket.Write(data.data(), data.size(), Soon());
  ASSERT_TRUE(written.ok()) << written.status();
  ASSERT_EQ(*written, data.size());
  const absl::Status flushed = socket.Flush(Soon());
  ASSERT_TRUE(flushed.ok()) << flushed;
}

// Reads `size` bytes, or less at the end; an error is appended as text.
inline std::string Receive(StreamSocket& socket, size_t size) {
  std::string data;
  std::vector<char> bytes(std::min(size, size_t{1} << 16));
  while (data.size() < size) {
    const auto got = socket.Read(bytes.data(), std::min(bytes.size(), size - data.size()), Soon());
    if (!got.ok()) return data + "<" + got.status().ToString() + ">";
    if (*got == 0) break;
    data.append(bytes.data(), *got);
  }
  return data;
}

inline std::string ReceiveAll(StreamSocket& socket) { return Receive(socket, SIZE_MAX); }

// What TryRead() finds now, as text.
inline std::string ReadNow(StreamSocket& socket) {
  char bytes[4096];
  const auto got = socket.TryRead(bytes, sizeof(bytes));
  if (!got.ok()) return got.status().ToString();
  if (*got == 0) return socket.end_of_file() ? "<end>" : "<empty>";
  return std::string(bytes, *got);
}

// A thread that does one blocking call.
class Blocked {
 public:
  explicit Blocked(std::function<absl::Status()> call)
      : thread_([this, call = std::move(call)] {
          thread_id_.store(static_cast<pid_t>(syscall(SYS_gettid)));
          result_ = call();
        }) {}
  ~Blocked() {
    if (thread_.joinable()) thread_.join();
  }

  // Returns once the thread sleeps: the call is its only reason to.
  void WaitUntilAsleep() {
    const Deadline deadline = Soon();
    while (State() != 'S') {
      ASSERT_FALSE(deadline.passed());
      std::this_thread::yield();
    }
  }

  absl::Status Result() {
    thread_.join();
    return result_;
  }

 private:
  char State() const {
    std::ifstream stat(absl::StrCat("/proc/self/task/", thread_id_.load(), "/stat"));
    std::string line;
    std::getline(stat, line);
    const size_t name_end = line.rfind(')');
    return name_end + 2 < line.size() ? line[name_end + 2] : '?';
  }

  std::atomic<pid_t> thread_id_{0};
  absl::Status result_;
  std::thread thread_;
};

}  // namespace locket::transport::internal

#endif  // LOCKET_TRANSPORT_INTERNAL_STREAM_TESTING_H_
