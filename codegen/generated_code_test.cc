// The golden files as a user's code sees them, in C++17 without exceptions and RTTI.
#include <type_traits>

#include "codegen/testdata/helloworld.locket.h"
#include "codegen/testdata/importing.locket.h"
#include "codegen/testdata/no_package.locket.h"
#include "codegen/testdata/odd_names.locket.h"
#include "codegen/testdata/proto2.locket.h"
#include "codegen/testdata/proto3_optional.locket.h"
#include "gtest/gtest.h"

namespace hello = codegen::testdata::helloworld;
namespace odd = codegen::testdata::odd_names;

// generated_code_not_inline_test.cc, compiled with LOCKET_SERVICES_NOT_INLINE.
const char* FullNameSeenNotInline();
hello::Greeter::Service* NewServiceSeenNotInline();

namespace {

static_assert(std::is_same_v<hello::Greeter, hello::locket_services::Greeter>);
static_assert(std::is_same_v<::NoPackageService, ::locket_services::NoPackageService>);
static_assert(std::is_base_of_v<::locket::Service, hello::Greeter::Service>);
static_assert(std::is_base_of_v<hello::Greeter::StubInterface, hello::Greeter::Stub>);
static_assert(std::is_same_v<decltype(hello::Greeter::NewStub(nullptr)),
                             std::unique_ptr<hello::Greeter::Stub>>);

// What a user writes to stand in for a server.
class FakeStub final : public hello::Greeter::StubInterface {
 public:
  ::locket::Status SayHello(::locket::ClientContext* /*context*/,
                            const hello::HelloRequest& request,
                            hello::HelloReply* response) override {
    response->set_message("Hello " + request.name());
    return ::locket::Status();
  }
  ::locket::Status SayHelloAgain(::locket::ClientContext* context,
                                 const hello::HelloRequest& request,
                                 hello::HelloReply* response) override {
    return SayHello(context, request, response);
  }
};

class HalfAService final : public hello::Greeter::Service {
 public:
  ::locket::Status SayHello(::locket::ServerContext* /*context*/,
                            const hello::HelloRequest* request,
                            hello::HelloReply* response) override {
    response->set_message("Hello " + request->name());
    return ::locket::Status();
  }
};

TEST(GeneratedCode, NamesItsService) {
  static_assert(hello::Greeter::service_full_name()[0] == 'c', "constexpr");
  EXPECT_STREQ(hello::Greeter::service_full_name(), "codegen.testdata.helloworld.Greeter");
  EXPECT_STREQ(::NoPackageService::service_full_name(), "NoPackageService");
  EXPECT_STREQ(odd::Service_::service_full_name(), "codegen.testdata.odd_names.Service");
}

TEST(GeneratedCode, StubsCanBeReplaced) {
  FakeStub fake;
  hello::Greeter::StubInterface& stub = fake;
  hello::HelloRequest request;
  request.set_name("you");
  hello::HelloReply reply;
  EXPECT_TRUE(stub.SayHelloAgain(nullptr, request, &reply).ok());
  EXPECT_EQ(reply.message(), "Hello you");
}

TEST(GeneratedCode, MethodsThatAServiceLeavesOutAreUnimplemented) {
  HalfAService service;
  const hello::HelloRequest request;
  hello::HelloReply reply;
  EXPECT_TRUE(service.SayHello(nullptr, &request, &reply).ok());
  EXPECT_EQ(service.SayHelloAgain(nullptr, &request, &reply).error_code(),
            ::locket::StatusCode::UNIMPLEMENTED);
}

TEST(GeneratedCode, OddNamesHaveAnUnderscore) {
  odd::Service_::Service service;
  const odd::delete_ request;
  odd::delete__class response;
  EXPECT_EQ(service.delete__(nullptr, &request, &response).error_code(),
            ::locket::StatusCode::UNIMPLEMENTED);
  odd::StubInterface_::Service without_methods;
  ::std_::Service not_the_standard_library;
  ::NoPackageRequest plain;
  EXPECT_FALSE(not_the_standard_library.locket(nullptr, &plain, &plain).ok());
}

TEST(GeneratedCode, HasTheSameNamesForTheLinkerWhereTheNamespaceIsNotInline) {
  EXPECT_STREQ(FullNameSeenNotInline(), hello::Greeter::service_full_name());
  delete NewServiceSeenNotInline();
}

}  // namespace
