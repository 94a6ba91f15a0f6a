#include "locket/transport/internal/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace locket::transport::internal {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

std::vector<std::string> LinesOf(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  return lines;
}

bool Lists(absl::string_view commas, absl::string_view what) {
  const std::vector<absl::string_view> all = absl::StrSplit(commas, ',');
  return std::find(all.begin(), all.end(), what) != all.end();
}

double Quota(absl::string_view quota, absl::string_view period) {
  int64_t of, in;
  // "max" and -1 say that there is none.
  if (!absl::SimpleAtoi(quota, &of) || !absl::SimpleAtoi(period, &in) || of < 0 || in <= 0) {
    return kNone;
  }
  return static_cast<double>(of) / static_cast<double>(in);
}

// The quota that one group's files state; none where they are not there (the root's).
double QuotaOf(const std::string& group, bool v2) {
  if (v2) {
    const std::vector<std::string> lines = LinesOf(group + "/cpu.max");
    if (lines.empty()) return kNone;
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(lines[0], absl::MaxSplits(' ', 1));
    return Quota(words.first, words.second);
  }
  const std::vector<std::string> quota = LinesOf(group + "/cpu.cfs_quota_us");
  const std::vector<std::string> period = LinesOf(group + "/cpu.cfs_period_us");
  return quota.empty() || period.empty() ? kNone : Quota(quota[0], period[0]);
}

// The path of this process's group in the hierarchy that limits CPU time; "" if there is none.
std::string GroupPath(const std::string& root, bool v2) {
  for (const std::string& line : LinesOf(root + "/proc/self/cgroup")) {
    // id:controllers:path
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    if (v2 ? fields[0] == "0" && fields[1].empty() : Lists(fields[1], "cpu")) return fields[2];
  }
  return "";
}

// The group's path below a mount of its hierarchy, of which only the part from `mounted` on is
// visible there; "" where the group lies outside (then the mount's own limits are all there is to
// see).
std::string BelowMount(absl::string_view group, absl::string_view mounted) {
  if (absl::StrContains(group, "/..") || group == "/") return "";
  if (mounted == "/") return std::string(group);
  if (!absl::ConsumePrefix(&group, mounted)) return "";
  return group.empty() || group[0] == '/' ? std::string(group) : "";
}

double QuotaInHierarchy(const std::string& root, bool v2) {
  const std::string group = GroupPath(root, v2);
  if (group.empty()) return kNone;
  double least = kNone;
  for (const std::string& line : LinesOf(root + "/proc/self/mountinfo")) {
    // id parent device root mount-point options [tags] - type source super-options
    const std::vector<std::string> halves = absl::StrSplit(line, absl::MaxSplits(" - ", 1));
    if (halves.size() != 2) continue;
    const std::vector<std::string> mount = absl::StrSplit(halves[0], ' ');
    const std::vector<std::string> what = absl::StrSplit(halves[1], ' ');
    if (mount.size() < 5 || what.size() < 3) continue;
    if (v2 ? what[0] != "cgroup2" : what[0] != "cgroup" || !Lists(what[2], "cpu")) continue;
    const std::string at = root + mount[4];
    std::string below = BelowMount(group, mount[3]);
    for (;;) {
      least = std::min(least, QuotaOf(at + below, v2));
      if (below.empty()) break;
      below.erase(below.rfind('/'));
    }
  }
  return least;
}

}  // namespace

double CpuQuota(const std::string& root) {
  return std::min(QuotaInHierarchy(root, /*v2=*/true), QuotaInHierarchy(root, /*v2=*/false));
}

}  // namespace locket::transport::internal
