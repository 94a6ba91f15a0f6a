#include "locket/transport/internal/cpu_quota.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace locket::transport::internal {
namespace {

constexpr char kV2Mount[] =
    "29 22 0:25 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr char kV1Mounts[] =
    "30 29 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "31 29 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

// A tree of files that look like /proc and /sys/fs/cgroup.
class CpuQuotaTest : public testing::Test {
 protected:
  CpuQuotaTest() {
    static int count = 0;
    root_ = testing::TempDir() + "/cgroups" + std::to_string(count++);
  }
  ~CpuQuotaTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  double Quota() const { return CpuQuota(root_); }

  std::string root_;
};

TEST_F(CpuQuotaTest, IsInfiniteWhereNobodyHasSetOne) {
  EXPECT_TRUE(std::isinf(Quota()));  // No /proc at all.
  Write("/proc/self/cgroup", "0::/user.slice\n");
  Write("/proc/self/mountinfo", kV2Mount);
  EXPECT_TRUE(std::isinf(Quota()));
  Write("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(Quota()));
}

TEST_F(CpuQuotaTest, IsTheLeastOfAllAncestorsOfVersion2) {
  Write("/proc/self/cgroup", "0::/a/b/c\n");
  Write("/proc/self/mountinfo", kV2Mount);
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(Quota(), 4);
  Write("/sys/fs/cgroup/a/cpu.max", "75000 50000\n");
  EXPECT_EQ(Quota(), 1.5);
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "20000 100000\n");
  EXPECT_EQ(Quota(), 0.2);
}

TEST_F(CpuQuotaTest, IsTheLeastOfAllAncestorsOfVersion1) {
  Write("/proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/a/b\n1:name=systemd:/s\n");
  Write("/proc/self/mountinfo", kV1Mounts);
  Write("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(Quota()));
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 1.5);
}

// Docker, version 2: the container sees its own group as the root of all.
TEST_F(CpuQuotaTest, OfAContainerWithANamespaceStandsAtTheMountPoint) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/proc/self/mountinfo", kV2Mount);
  Write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(Quota(), 2.5);
}

// Docker, version 1: the path is the host's, and the mount begins at it.
TEST_F(CpuQuotaTest, OfAContainerWithoutANamespaceStandsWhereItsPartIsMounted) {
  Write("/proc/self/cgroup", "4:cpu,cpuacct:/docker/abc/inner\n");
  Write("/proc/self/mountinfo",
        "31 29 0:27 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 3);
  Write("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 1);
}

TEST_F(CpuQuotaTest, OfAGroupOutsideOfWhatIsMountedIsTheMounts) {
  Write("/proc/self/mountinfo", "31 29 0:27 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  Write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  for (const char* path : {"0::/docker/abcdef\n", "0::/elsewhere\n", "0::/../x\n"}) {
    Write("/proc/self/cgroup", path);
    EXPECT_EQ(Quota(), 2) << path;
  }
}

TEST_F(CpuQuotaTest, IsInfiniteWhereTheFilesMakeNoSense) {
  Write("/proc/self/mountinfo", std::string("nonsense\n - \n") + kV2Mount);
  Write("/proc/self/cgroup", "nonsense\n0::/a\n");
  for (const char* text : {"", "\n", "x y\n", "1\n", "5 0\n", "-5 100000\n"}) {
    Write("/sys/fs/cgroup/a/cpu.max", text);
    EXPECT_TRUE(std::isinf(Quota())) << text;
  }
}

}  // namespace
}  // namespace locket::transport::internal
