// grpc++ over `unix:` as a System.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "bench/bench.grpc.pb.h"
#include "locket/bench/rpc_system.h"

namespace locket::bench {
namespace {

struct GrpcApi {
  using Generated = BenchService;
  using Status = grpc::Status;
  using StatusCode = grpc::StatusCode;
  using ClientContext = grpc::ClientContext;
  using ServerContext = grpc::ServerContext;
  using ServerBuilder = grpc::ServerBuilder;
  using Channel = grpc::Channel;

  static std::string name() { return "grpc-unix"; }
  static std::shared_ptr<Channel> CreateChannel(const std::string& target) {
    return grpc::CreateChannel(target, grpc::InsecureChannelCredentials());
  }
  static void AddPort(ServerBuilder& builder, const std::string& target) {
    builder.AddListeningPort(target, grpc::InsecureServerCredentials());
  }
};

}  // namespace

std::unique_ptr<System> MakeGrpcSystem() { return std::make_unique<RpcSystem<GrpcApi>>(); }

}  // namespace locket::bench
