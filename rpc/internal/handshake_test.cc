#include "locket/rpc/internal/handshake.h"

#include <string>

#include "gtest/gtest.h"

namespace locket::internal {
namespace {

std::string Text(const absl::Status& status) { return std::string(status.message()); }

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(HandshakeTest, BothSidesAgreeOnTheSmallerLimits) {
  Handshake client;
  client.calls_in_flight = 7;
  Handshake server;
  server.bound_methods = 3;
  const absl::StatusOr<Agreement> servers = AgreeAsServer(server, EncodeHandshake(client));
  ASSERT_TRUE(servers.ok()) << servers.status();
  EXPECT_EQ(servers->calls_in_flight, 7u);
  EXPECT_EQ(servers->bound_methods, 3u);
  const absl::StatusOr<Agreement> clients = AgreeAsClient(client, EncodeAnswer(server, *servers));
  ASSERT_TRUE(clients.ok()) << clients.status();
  EXPECT_EQ(clients->calls_in_flight, 7u);
  EXPECT_EQ(clients->bound_methods, 3u);
}

TEST(HandshakeTest, LimitsAreCappedWhateverBothOffer) {
  Handshake greedy;
  greedy.calls_in_flight = 0xffffffff;
  greedy.bound_methods = 0xffffffff;
  const absl::StatusOr<Agreement> agreed = AgreeAsServer(greedy, EncodeHandshake(greedy));
  ASSERT_TRUE(agreed.ok());
  EXPECT_EQ(agreed->calls_in_flight, kMaxCallsInFlight);
  EXPECT_EQ(agreed->bound_methods, kMaxBoundMethods);
}

TEST(HandshakeTest, VersionsThatDoNotMeetAreBothNamed) {
  Handshake future;
  future.version_min = 7;
  future.version_max = 9;
  const absl::StatusOr<Agreement> agreed = AgreeAsServer(Handshake(), EncodeHandshake(future));
  ASSERT_EQ(agreed.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(Text(agreed.status()), "the client speaks 7 to 9"));
  EXPECT_TRUE(Contains(Text(agreed.status()), "the server 1 to 1"));
}

TEST(HandshakeTest, AServerThatChoosesAnotherVersionIsRefused) {
  Handshake future;
  future.version = 2;
  EXPECT_EQ(AgreeAsClient(Handshake(), EncodeHandshake(future)).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(HandshakeTest, UnknownFeaturesAreIgnoredButNotUnknownRequirements) {
  Handshake future;
  future.features = 0xff00;
  EXPECT_TRUE(AgreeAsServer(Handshake(), EncodeHandshake(future)).ok());
  future.required = 0x100;
  EXPECT_TRUE(Contains(Text(AgreeAsServer(Handshake(), EncodeHandshake(future)).status()), "100"));
}

TEST(HandshakeTest, LongerBlocksOfLaterVersionsAreFine) {
  EXPECT_TRUE(AgreeAsServer(Handshake(), EncodeHandshake(Handshake()) + "more").ok());
}

TEST(HandshakeTest, OtherBytesAreRefused) {
  std::string block = EncodeHandshake(Handshake());
  EXPECT_FALSE(AgreeAsServer(Handshake(), "").ok());
  EXPECT_FALSE(AgreeAsServer(Handshake(), block.substr(0, 47)).ok());
  block[0] = 'X';
  EXPECT_FALSE(AgreeAsServer(Handshake(), block).ok());
  Handshake none;
  none.calls_in_flight = 0;
  EXPECT_FALSE(AgreeAsServer(Handshake(), EncodeHandshake(none)).ok());
  EXPECT_FALSE(AgreeAsClient(Handshake(), EncodeHandshake(none)).ok());
}

}  // namespace
}  // namespace locket::internal
