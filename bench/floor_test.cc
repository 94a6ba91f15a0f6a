#include "locket/bench/floor.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace locket::bench {
namespace {

// Would reveal a floor that lies: records that are read before they are whole, or a ring that does
// not walk on.
TEST(FloorRingTest, EveryRecordArrivesWholeOverSeveralLaps) {
  // No smaller ones: where other programs want the CPUs, each round trip of two spinning threads
  // can take milliseconds, and small records need many to a lap.
  for (const size_t bytes : {size_t{1000}, size_t{65536}}) {
    SCOPED_TRACE(bytes);
    const int fd = memfd_create("floor_test", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(fd, 2 * FloorRing::kBytes), 0);
    absl::StatusOr<FloorRing> requests = FloorRing::Map(fd, 0);
    absl::StatusOr<FloorRing> replies = FloorRing::Map(fd, FloorRing::kBytes);
    ASSERT_TRUE(requests.ok()) << requests.status();
    ASSERT_TRUE(replies.ok()) << replies.status();

    const size_t rounds = 3 * FloorRing::kBytes / bytes;
    std::thread server([in = *requests, out = *replies, bytes, rounds]() mutable {
      std::string record(bytes, '\0');
      for (size_t i = 0; i < rounds; ++i) {
        in.Read(record.data(), bytes, /*pause=*/true);
        out.Write(record.data(), bytes);
      }
    });
    size_t wrong = 0;
    std::string reply(bytes, '\0');
    for (size_t i = 0; i < rounds; ++i) {
      const std::string request(bytes, static_cast<char>('a' + i % 26));
      requests->Write(request.data(), bytes);
      replies->Read(reply.data(), bytes, /*pause=*/false);
      wrong += reply != request;
    }
    server.join();
    close(fd);
    EXPECT_EQ(wrong, 0u);
  }
}

}  // namespace
}  // namespace locket::bench
