// BenchService of bench.proto over an RPC framework with gRPC's API: one text for grpc++ and for
// Locket, so that both run the same program. Each stands in a source file of its own.
#ifndef LOCKET_BENCH_RPC_SYSTEM_H_
#define LOCKET_BENCH_RPC_SYSTEM_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/bench.pb.h"
#include "locket/bench/measure.h"
#include "locket/bench/system.h"

namespace locket::bench {

// Api names the framework's types: Generated (the service class that the plugin wrote), Status,
// StatusCode, ClientContext, ServerContext, ServerBuilder, Channel; its functions
// CreateChannel(target) and AddPort(builder, target), without credentials; and name(), the
// system's.
template <class Api>
class RpcService final : public Api::Generated::Service {
 public:
  explicit RpcService(const Shape& shape) : reply_(shape.reply_bytes(), 'p') {}

  typename Api::Status Call(typename Api::ServerContext*, const BenchRequest* request,
                            BenchReply* reply) override {
    if (request->reply_bytes() > reply_.size()) {
      return typename Api::Status(
          Api::StatusCode::INVALID_ARGUMENT,
          absl::StrCat("reply_bytes ", request->reply_bytes(), " above ", reply_.size()));
    }
    reply->set_payload(reply_.data(), request->reply_bytes());
    return typename Api::Status();
  }

 private:
  const std::string reply_;
};

template <class Api>
class RpcClient final : public Client {
 public:
  RpcClient(const Setup& setup, std::shared_ptr<typename Api::Channel> channel)
      : stub_(Api::Generated::NewStub(std::move(channel))) {
    request_.set_payload(std::string(setup.shape().request_bytes(), 'q'));
    request_.set_reply_bytes(setup.shape().reply_bytes());
  }

  absl::Status Call() override {
    typename Api::ClientContext context;
    const typename Api::Status status = stub_->Call(&context, request_, &reply_);
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          std::string(status.error_message()));
    }
    if (reply_.payload().size() != request_.reply_bytes()) {
      return absl::InternalError(absl::StrCat("a reply of ", reply_.payload().size(), " bytes"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Measurement> Measure(const Plan& plan) override {
    return MeasureCalls(plan, [this] { return Call(); });
  }

 private:
  const std::unique_ptr<typename Api::Generated::Stub> stub_;
  BenchRequest request_;
  BenchReply reply_;
};

template <class Api>
class RpcSystem final : public System {
 public:
  std::string name() const override { return Api::name(); }

  absl::Status Serve(const Setup& setup, ParentLink& parent) const override {
    RpcService<Api> service(setup.shape());
    typename Api::ServerBuilder builder;
    Api::AddPort(builder, Target(setup));
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (server == nullptr) {
      return absl::InternalError(absl::StrCat("no server on ", Target(setup)));
    }
    parent.Ready();
    parent.WaitForStop();
    server->Shutdown();
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Client>> Connect(const Setup& setup) const override {
    return std::make_unique<RpcClient<Api>>(setup, Api::CreateChannel(Target(setup)));
  }

 private:
  static std::string Target(const Setup& setup) {
    return absl::StrCat("unix://", setup.socket_path());
  }
};

}  // namespace locket::bench

#endif  // LOCKET_BENCH_RPC_SYSTEM_H_
