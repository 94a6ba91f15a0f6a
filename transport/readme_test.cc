// The example of README.md: it compiles, works, and is the one below.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "locket/transport/listener_socket.h"
#include "locket/transport/stream_socket.h"

namespace {

// [example]
using namespace locket::transport;  // of locket/transport/listener_socket.h and stream_socket.h

absl::Status Serve(StreamSocket& socket) {  // Sends back what comes, with '-' for each blank.
  char text[1000];
  for (;;) {
    auto got = socket.Read(text, sizeof(text));
    if (!got.ok()) return got.status();  // The client died.
    if (*got == 0) return socket.Shutdown(ShutdownHow::kWrite);
    std::replace(text, text + *got, ' ', '-');
    if (auto put = socket.Write(text, *got); !put.ok()) return put.status();
    if (auto sent = socket.Flush(); !sent.ok()) return sent;
  }
}

absl::StatusOr<size_t> Ask(const std::string& address, const std::string& question, char* answer) {
  auto socket = StreamSocket::Connect(address, {}, Deadline::After(std::chrono::seconds(10)));
  if (!socket.ok()) return socket.status();
  if (auto put = (*socket)->Write(question.data(), question.size()); !put.ok()) return put;
  if (auto ended = (*socket)->Shutdown(ShutdownHow::kWrite); !ended.ok()) return ended;
  for (size_t size = 0;;) {
    auto got = (*socket)->Read(answer + size, question.size() - size);
    if (!got.ok() || *got == 0) return got.ok() ? size : got;
    size += *got;
  }
}
// [end]

TEST(ReadmeTest, TheExampleWorks) {
  auto listener = ListenerSocket::Listen("0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::thread server([&] {
    auto socket = (*listener)->Accept();
    ASSERT_TRUE(socket.ok()) << socket.status();
    EXPECT_TRUE(Serve(**socket).ok());
  });
  char answer[11];
  const auto size = Ask((*listener)->address(), "how are you", answer);
  server.join();
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(std::string(answer, *size), "how-are-you");
}

std::string Between(const std::string& path, const std::string& open, const std::string& end) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const size_t start = text.str().find(open);
  EXPECT_NE(start, std::string::npos) << path;
  if (start == std::string::npos) return "";
  const size_t first = start + open.size();
  return text.str().substr(first, text.str().find(end, first) - first);
}

TEST(ReadmeTest, TheExampleIsTheOneThatWasTested) {
  EXPECT_EQ(Between("transport/README.md", "```c++\n", "```"),
            Between("transport/readme_test.cc", "// [example]\n", "// [end]"));
}

}  // namespace
