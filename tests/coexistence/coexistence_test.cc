// One translation unit with grpc++, every header of Locket and both generated headers of one proto:
// it compiles, links, and both systems answer in one process.
#include <grpcpp/grpcpp.h>

// Locket's services in a plain namespace, so that both::Doubler is gRPC's.
#define LOCKET_SERVICES_NOT_INLINE
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "tests/coexistence/both.grpc.pb.h"
#include "tests/coexistence/both.locket.h"
#include "tests/coexistence/public_headers.h"

namespace locket::tests::both {
namespace {

class GrpcDoubler final : public Doubler::Service {
  grpc::Status Double(grpc::ServerContext*, const Number* request, Number* response) override {
    response->set_value(2 * request->value());
    return grpc::Status::OK;
  }
};

class LocketDoubler final : public locket_services::Doubler::Service {
  locket::Status Double(locket::ServerContext*, const Number* request, Number* response) override {
    response->set_value(2 * request->value());
    return locket::Status::OK;
  }
};

TEST(CoexistenceTest, BothSystemsAnswerInOneProcess) {
  const std::string name = "unix-abstract:locket-both-" + std::to_string(getpid());

  GrpcDoubler grpc_service;
  const auto grpc_server = grpc::ServerBuilder()
                               .AddListeningPort(name + "-g", grpc::InsecureServerCredentials())
                               .RegisterService(&grpc_service)
                               .BuildAndStart();
  ASSERT_NE(grpc_server, nullptr);
  LocketDoubler locket_service;
  const auto locket_server = locket::ServerBuilder()
                                 .AddListeningPort(name + "-l", locket::InsecureServerCredentials())
                                 .RegisterService(&locket_service)
                                 .BuildAndStart();
  ASSERT_NE(locket_server, nullptr);

  const auto grpc_stub =
      Doubler::NewStub(grpc::CreateChannel(name + "-g", grpc::InsecureChannelCredentials()));
  const auto locket_stub = locket_services::Doubler::NewStub(
      locket::CreateChannel(name + "-l", locket::InsecureChannelCredentials()));
  for (int i = 0; i < 10; ++i) {
    Number request;
    request.set_value(i);
    Number response;
    grpc::ClientContext grpc_context;
    const grpc::Status grpc_status = grpc_stub->Double(&grpc_context, request, &response);
    EXPECT_TRUE(grpc_status.ok()) << grpc_status.error_message();
    EXPECT_EQ(response.value(), 2 * i);

    response.Clear();
    locket::ClientContext locket_context;
    const locket::Status locket_status = locket_stub->Double(&locket_context, request, &response);
    EXPECT_TRUE(locket_status.ok()) << locket_status.error_message();
    EXPECT_EQ(response.value(), 2 * i);
  }
}

}  // namespace
}  // namespace locket::tests::both
