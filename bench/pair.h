// One measurement: a server process and a client process of one system, from start to end.
#ifndef LOCKET_BENCH_PAIR_H_
#define LOCKET_BENCH_PAIR_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/pair.pb.h"
#include "locket/bench/cpus.h"
#include "locket/bench/system.h"

namespace locket::bench {

// A folder of our own for sockets, in $TMPDIR or /tmp; gone with the object.
class SocketFolder {
 public:
  static absl::StatusOr<SocketFolder> Create();
  SocketFolder(SocketFolder&& other) noexcept;
  SocketFolder& operator=(SocketFolder&&) = delete;
  ~SocketFolder();

  // A path that was never given out before.
  std::string NextPath();

 private:
  explicit SocketFolder(std::string path);

  std::string path_;
  int given_ = 0;
};

// In the starting process. New processes each time: nothing of an earlier measurement, a thread of
// grpc++ or a warm cache, is in a later one, and no server of another system is awake.
// The path of `setup` and its descriptor are filled in here.
absl::StatusOr<Measurement> MeasurePair(const System& system, const Setup& setup, const Plan& plan,
                                        std::optional<CpuPair> cpus, SocketFolder& sockets);

// One call, then silence: the CPU time of all threads of both processes, in percent of one CPU.
absl::StatusOr<double> MeasureIdle(const System& system, std::chrono::milliseconds silence,
                                   std::optional<CpuPair> cpus, SocketFolder& sockets);

// In the started process: does what its role says. The exit status.
int RunChild(const ChildRole& role, const System& system);

}  // namespace locket::bench

#endif  // LOCKET_BENCH_PAIR_H_
