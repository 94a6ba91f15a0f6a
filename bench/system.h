// What the unary benchmark compares: ways to carry a request to another process and a reply back.
#ifndef LOCKET_BENCH_SYSTEM_H_
#define LOCKET_BENCH_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/pair.pb.h"
#include "locket/bench/child.h"

namespace locket::bench {

// The first byte of a message of Setup::ONE_WAY: whether the server answers it.
inline constexpr char kMessage = 'q';
inline constexpr char kLastMessage = 'l';

// The calling end. Used by one thread. A Client never looks whether its server is alive: the
// process that started both does, and ends both.
class Client {
 public:
  virtual ~Client() = default;

  // One round trip of setup.shape.
  virtual absl::Status Call() = 0;

  // Many, or what setup.pattern says. Implemented by MeasureCalls() over Call() of the final class,
  // which is then inlined.
  virtual absl::StatusOr<Measurement> Measure(const Plan& plan) = 0;
};

// Stateless: one object is asked for its name by the starting process, for Serve() in the server's
// process and for Connect() in the client's.
class System {
 public:
  virtual ~System() = default;

  virtual std::string name() const = 0;

  // Ways to run it, of which each round keeps the one with the lower p50.
  virtual std::vector<std::string> variants() const { return {""}; }

  // Whether it takes part in a benchmark.
  virtual bool Does(const Setup&) const { return true; }

  // Whether a server without calls sleeps.
  virtual bool sleeps() const { return true; }

  // Serves one client. Calls parent.Ready() once it can be reached; returns once the parent asks
  // it to stop, or the client is gone.
  virtual absl::Status Serve(const Setup& setup, ParentLink& parent) const = 0;

  virtual absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const = 0;
};

std::unique_ptr<System> MakeFloorSystem();
std::unique_ptr<System> MakeUnixSystem();
std::unique_ptr<System> MakeTcpSystem();
std::unique_ptr<System> MakeGrpcSystem();
std::unique_ptr<System> MakeLocketSystem();
std::unique_ptr<System> MakeTransportSystem();  // Locket without its RPC; also named "locket".

}  // namespace locket::bench

#endif  // LOCKET_BENCH_SYSTEM_H_
