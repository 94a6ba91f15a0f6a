#include "locket/transport/listener_socket.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locket/transport/endpoint.h"
#include "locket/transport/stream_socket.h"
#include "locket/transport/wait_set.h"

namespace locket::transport {
namespace {

Deadline Soon() { return Deadline::After(std::chrono::seconds(10)); }

std::string UniqueName() {
  static std::atomic<int> count{0};
  return absl::StrCat("unix-abstract:locket-listener-", getpid(), "-", count++);
}

// Whether bytes go there and back.
void ExpectTalk(StreamSocket& one, StreamSocket& other) {
  char bytes[8] = {};
  ASSERT_TRUE(one.Write("ping", 4).ok());
  ASSERT_TRUE(one.Flush().ok());
  ASSERT_EQ(*other.Read(bytes, sizeof(bytes), Soon()), 4u);
  ASSERT_TRUE(other.Write(bytes, 4).ok());
  ASSERT_TRUE(other.Flush().ok());
  ASSERT_EQ(*one.Read(bytes, sizeof(bytes), Soon()), 4u);
  EXPECT_EQ(std::string(bytes), "ping");
}

TEST(ListenerSocketTest, AcceptsClientsInTheirOrder) {
  auto listener = ListenerSocket::Listen(UniqueName());
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ((*listener)->port(), 0);
  std::vector<std::unique_ptr<StreamSocket>> clients;
  for (int i = 0; i < 5; ++i) {
    auto client = StreamSocket::Connect((*listener)->address(), {}, Soon());
    ASSERT_TRUE(client.ok()) << client.status();
    clients.push_back(*std::move(client));
  }
  for (const auto& client : clients) {
    auto accepted = (*listener)->Accept(Soon());
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    ExpectTalk(*client, **accepted);
  }
}

TEST(ListenerSocketTest, TryAcceptFindsNobodyAndThenAClient) {
  auto listener = *ListenerSocket::Listen("0");
  auto nobody = listener->TryAccept();
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  EXPECT_EQ(*nobody, nullptr);
  auto client = *StreamSocket::Connect(listener->address(), {}, Soon());
  const Deadline deadline = Soon();
  for (;;) {
    ASSERT_FALSE(deadline.passed());
    auto accepted = listener->TryAccept();
    ASSERT_TRUE(accepted.ok()) << accepted.status();
    if (*accepted == nullptr) continue;
    ExpectTalk(*client, **accepted);
    break;
  }
}

TEST(ListenerSocketTest, ABarePortIsAnAddressAndZeroAFreeOne) {
  auto listener = *ListenerSocket::Listen("0");
  ASSERT_GT(listener->port(), 0);
  const std::string port = std::to_string(listener->port());
  EXPECT_EQ(listener->address(), "localhost:" + port);
  auto client = StreamSocket::Connect(port, {}, Soon());
  ASSERT_TRUE(client.ok()) << client.status();
  ExpectTalk(**client, **listener->Accept(Soon()));
  EXPECT_TRUE(absl::IsAlreadyExists(ListenerSocket::Listen(port).status()));
  listener->Close();
  EXPECT_TRUE(ListenerSocket::Listen(port).ok());
}

TEST(ListenerSocketTest, TheDirectoryOptionSaysWhereNamesLie) {
  char name[] = "/tmp/locket-XXXXXX";
  SocketOptions options;
  options.directory = mkdtemp(name);
  {
    auto listener = ListenerSocket::Listen("locket:here", options);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_EQ((*listener)->address(), "locket:here");
    EXPECT_TRUE(std::filesystem::exists(options.directory + "/here"));
    auto client = StreamSocket::Connect("locket:here", options, Soon());
    ASSERT_TRUE(client.ok()) << client.status();
    ExpectTalk(**client, **(*listener)->Accept(Soon()));
    for (const char* bad : {"locket:", "locket:../here", "locket:.here", "locket:a/b"}) {
      EXPECT_TRUE(absl::IsInvalidArgument(ListenerSocket::Listen(bad, options).status())) << bad;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(options.directory + "/here"));
  std::filesystem::remove_all(options.directory);
}

TEST(ListenerSocketTest, AcceptEndsByItsDeadline) {
  auto listener = *ListenerSocket::Listen("0");
  EXPECT_TRUE(absl::IsDeadlineExceeded(listener->Accept(Deadline::AfterNanos(1'000'000)).status()));
}

// Would reveal: a close that wakes one of several, or none.
TEST(ListenerSocketTest, CloseFromAnotherThreadEndsEveryBlockedAccept) {
  auto listener = *ListenerSocket::Listen("0");
  std::vector<std::thread> accepting;
  for (int i = 0; i < 3; ++i) {
    accepting.emplace_back(
        [&] { EXPECT_TRUE(absl::IsCancelled(listener->Accept(Soon()).status())); });
  }
  listener->Close();
  for (std::thread& thread : accepting) thread.join();
  EXPECT_TRUE(absl::IsCancelled(listener->Accept().status()));
  EXPECT_TRUE(absl::IsCancelled(listener->TryAccept().status()));
  EXPECT_TRUE(absl::IsUnavailable(StreamSocket::Connect(listener->address(), {}, Soon()).status()));
}

TEST(ListenerSocketTest, AcceptedClientsOutliveTheListenerAndOthersAreClosed) {
  auto listener = *ListenerSocket::Listen("0");
  auto first = *StreamSocket::Connect(listener->address(), {}, Soon());
  auto accepted = *listener->Accept(Soon());
  auto second = *StreamSocket::Connect(listener->address(), {}, Soon());
  listener.reset();
  ExpectTalk(*first, *accepted);
  char byte;
  const auto end = second->Read(&byte, 1, Soon());
  EXPECT_TRUE(!end.ok() ? absl::IsUnavailable(end.status()) : *end == 0) << end.status();
}

TEST(ListenerSocketTest, AClientThatHasGoneIsHandedOverWithWhatItWrote) {
  auto listener = *ListenerSocket::Listen("0");
  {
    auto client = *StreamSocket::Connect(listener->address(), {}, Soon());
    ASSERT_TRUE(client->Write("bye", 3).ok());
    ASSERT_TRUE(client->Flush().ok());
  }
  auto accepted = *listener->Accept(Soon());
  char bytes[8];
  EXPECT_EQ(*accepted->Read(bytes, sizeof(bytes), Soon()), 3u);
  EXPECT_EQ(*accepted->Read(bytes, sizeof(bytes), Soon()), 0u);
}

TEST(ListenerSocketTest, MoreClientsThanTheBacklogAreRefusedWithTheReason) {
  SocketOptions options;
  options.backlog = 2;
  auto listener = *ListenerSocket::Listen("0", options);
  std::vector<std::unique_ptr<StreamSocket>> clients;
  absl::Status refused;
  // Those in their handshake are not counted: one more than two may come through.
  for (int i = 0; i < 10 && refused.ok(); ++i) {
    auto client = StreamSocket::Connect(listener->address(), {}, Soon());
    refused = client.status();
    if (client.ok()) clients.push_back(*std::move(client));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_NE(refused.message().find("2 at most"), absl::string_view::npos) << refused;
  ASSERT_TRUE(listener->Accept(Soon()).ok());
  EXPECT_TRUE(StreamSocket::Connect(listener->address(), {}, Soon()).ok());
}

TEST(ListenerSocketTest, OneThreadWaitsForManyAcceptedSockets) {
  auto listener = *ListenerSocket::Listen("0");
  auto set = *WaitSet::Create();
  std::vector<std::unique_ptr<StreamSocket>> clients;
  std::vector<std::unique_ptr<StreamSocket>> accepted;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(*StreamSocket::Connect(listener->address(), {}, Soon()));
    accepted.push_back(*listener->Accept(Soon()));
    ASSERT_TRUE(set->Add(accepted.back()->connection(), accepted.back().get()).ok());
  }
  for (const auto& client : clients) {
    ASSERT_TRUE(client->Write("one", 3).ok());
    ASSERT_TRUE(client->Shutdown(ShutdownHow::kWrite).ok());
  }
  std::string received;
  for (size_t ended = 0; ended < accepted.size();) {
    auto* const ready = static_cast<StreamSocket*>(set->Wait(Soon()));
    ASSERT_NE(ready, nullptr);
    char bytes[8];
    for (;;) {
      const auto got = ready->TryRead(bytes, sizeof(bytes));
      ASSERT_TRUE(got.ok()) << got.status();
      if (*got == 0) break;
      received.append(bytes, *got);
    }
    if (!ready->end_of_file()) continue;
    set->Remove(ready->connection());
    ++ended;
  }
  EXPECT_EQ(received, "oneoneoneoneone");
}

TEST(ListenerSocketTest, WhoSpeaksSomethingElseIsRefusedByEitherSide) {
  auto listener = *ListenerSocket::Listen("0");
  ConnectOptions other;
  other.block = "something else";
  const absl::Status client = Connect(listener->address(), other, Soon()).status();
  EXPECT_TRUE(absl::IsUnavailable(client)) << client;
  EXPECT_NE(client.message().find("something else"), absl::string_view::npos) << client;

  const std::string target = UniqueName();
  auto server = Listener::Listen(target, {}, [](std::unique_ptr<Connection>) {});
  ASSERT_TRUE(server.ok()) << server.status();
  const absl::Status refused = StreamSocket::Connect(target, {}, Soon()).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_NE(refused.message().find("locket-stream 1"), absl::string_view::npos) << refused;
}

TEST(ListenerSocketTest, BadOptionsAreTheListenersError) {
  SocketOptions options;
  options.capacity = 1000;
  EXPECT_TRUE(absl::IsInvalidArgument(ListenerSocket::Listen("0", options).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ListenerSocket::Listen("no address").status()));
}

}  // namespace
}  // namespace locket::transport
