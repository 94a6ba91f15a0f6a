// Locket as a System.
#include <memory>
#include <string>

#include "bench/bench.locket.h"
#include "locket/bench/rpc_system.h"
#include "locket/locket.h"

namespace locket::bench {
namespace {

struct LocketApi {
  using Generated = locket_services::BenchService;
  using Status = locket::Status;
  using StatusCode = locket::StatusCode;
  using ClientContext = locket::ClientContext;
  using ServerContext = locket::ServerContext;
  using ServerBuilder = locket::ServerBuilder;
  using Channel = locket::Channel;

  static std::string name() { return "locket"; }
  static std::shared_ptr<Channel> CreateChannel(const std::string& target) {
    return locket::CreateChannel(target, locket::InsecureChannelCredentials());
  }
  static void AddPort(ServerBuilder& builder, const std::string& target) {
    builder.AddListeningPort(target, locket::InsecureServerCredentials());
  }
};

}  // namespace

std::unique_ptr<System> MakeLocketSystem() { return std::make_unique<RpcSystem<LocketApi>>(); }

}  // namespace locket::bench
