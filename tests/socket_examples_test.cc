// The examples of transport/, as their reader runs them.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "locket/tests/stream_data.h"
#include "locket/tests/test_process.h"

namespace locket::tests {
namespace {

const char kFilecopy[] = "examples/filecopy/filecopy";
const char kPingpong[] = "examples/pingpong/pingpong";

std::string Address() { return "unix-abstract:locket-examples-" + std::to_string(getpid()); }

class FilecopyTest : public testing::Test {
 protected:
  FilecopyTest() {
    char name[] = "/tmp/locket-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~FilecopyTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  static std::string Contents(const std::string& path) {
    std::stringstream contents;
    contents << std::ifstream(path).rdbuf();
    return contents.str();
  }

  std::string directory_;
};

TEST_F(FilecopyTest, CopiesFilesOfEverySizeThroughASmallRing) {
  constexpr size_t kRing = 4096;
  for (const size_t size :
       {size_t{0}, size_t{1}, kRing - 1, kRing, kRing + 1, 10 * kRing, size_t{5'000'000}}) {
    std::string contents(size, '\0');
    StreamData().Fill(contents.data(), size);
    std::ofstream(Path("from")) << contents;
    TestProcess receiver(kFilecopy, {"--capacity=4096", "receive", Address(), Path("to")});
    ASSERT_EQ(receiver.ReadLine(), "Listening on " + Address());
    TestProcess sender(kFilecopy, {"send", Address(), Path("from")});
    EXPECT_EQ(sender.ReadLine(), "sent " + std::to_string(size) + " bytes");
    EXPECT_EQ(receiver.ReadLine(), "received " + std::to_string(size) + " bytes");
    EXPECT_EQ(sender.Wait(), 0);
    EXPECT_EQ(receiver.Wait(), 0);
    EXPECT_TRUE(Contents(Path("to")) == contents) << size;
  }
}

TEST_F(FilecopyTest, ASenderThatIsKilledLeavesNoHalfFile) {
  // A pipe that never ends, as the file: the sender waits in the middle of it.
  ASSERT_EQ(mkfifo(Path("from").c_str(), 0600), 0);
  TestProcess receiver(kFilecopy, {"receive", Address(), Path("to")});
  ASSERT_EQ(receiver.ReadLine(), "Listening on " + Address());
  TestProcess sender(kFilecopy, {"send", Address(), Path("from")});
  std::ofstream from(Path("from"));
  from << "the first half" << std::flush;
  while (Contents(Path("to")) != "the first half") std::this_thread::yield();
  sender.Kill();
  EXPECT_EQ(receiver.Wait(), 1);
  EXPECT_FALSE(std::filesystem::exists(Path("to")));
}

TEST(PingpongTest, MeasuresRoundTrips) {
  TestProcess server(kPingpong, {"serve", Address()});
  ASSERT_EQ(server.ReadLine(), "Listening on " + Address());
  for (int client = 0; client < 2; ++client) {
    TestProcess ping(kPingpong, {"--rounds=1000", "ping", Address()});
    EXPECT_EQ(ping.ReadLine().substr(0, 47), "1000 round trips, 4 bytes there, 1024 back: med");
    EXPECT_EQ(ping.Wait(), 0);
  }
}

}  // namespace
}  // namespace locket::tests
