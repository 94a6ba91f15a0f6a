#include "locket/codegen/names.h"

#include <google/protobuf/compiler/cpp/generator.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locket/codegen/testing.h"

namespace locket::codegen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Escape, AppendsAnUnderscoreToReservedNamesAndKeywords) {
  EXPECT_THAT(Escape({"A", "Stub", "delete", "co_await"}, {"Stub"}),
              ElementsAre("A", "Stub_", "delete_", "co_await_"));
}

TEST(Escape, ChangesNoNameForTheSakeOfAnother) {
  EXPECT_THAT(Escape({"delete", "delete_", "delete__"}, {}),
              ElementsAre("delete___", "delete_", "delete__"));
}

TEST(Escape, DoesNotMeetOtherReservedNames) {
  EXPECT_THAT(Escape({"delete"}, {"delete_"}), ElementsAre("delete__"));
}

TEST(Keywords, AreThoseOfCpp20AndNoContextualOnes) {
  for (const char* name : {"public", "requires", "char8_t", "NULL", "xor_eq"}) {
    EXPECT_TRUE(IsKeyword(name)) << name;
  }
  for (const char* name : {"final", "override", "import", "module", "SayHello", ""}) {
    EXPECT_FALSE(IsKeyword(name)) << name;
  }
}

TEST(ServiceNames, AvoidWhatTheGeneratedClassAndTheMessagesTake) {
  TestProtos protos;
  protos.Add("other.proto", R"(
      syntax = "proto3";
      package p;
      message Imported { message Inner {} }
  )");
  const auto& file = protos.AddAndImport("services.proto", R"(
      syntax = "proto3";
      package p;
      import "other.proto";
      message Outer { enum Kind { UNKNOWN = 0; } }
      service Greeter {}
      service Stub {}
      service Imported_Inner {}
      service Outer_Kind {}
      service kGreeterMethods {}
      service std {}
  )");
  EXPECT_THAT(ServiceNames(file), ElementsAre("Greeter", "Stub_", "Imported_Inner_", "Outer_Kind_",
                                              "kGreeterMethods_", "std"));
}

TEST(ServiceNames, AvoidGlobalNamespacesWhereThereIsNoPackage) {
  TestProtos protos;
  EXPECT_THAT(ServiceNames(protos.AddAndImport("services.proto", R"(
                  syntax = "proto3";
                  service std {}
                  service locket {}
              )")),
              ElementsAre("std_", "locket_"));
}

TEST(MethodNames, AvoidMembersOfTheGeneratedClasses) {
  TestProtos protos;
  const auto& file = protos.AddAndImport("methods.proto", R"(
      syntax = "proto3";
      message M {}
      service S {
        rpc Service(M) returns (M);
        rpc NewStub(M) returns (M);
        rpc channel_(M) returns (M);
        rpc delete(M) returns (M);
      }
  )");
  EXPECT_THAT(MethodNames(*file.service(0)),
              ElementsAre("Service_", "NewStub", "channel__", "delete_"));
}

// Whatever the version of protobuf does with keywords.
TEST(PackageNamespace, IsTheOneThatProtobufOpens) {
  for (const char* package : {"a", "a.b_c.D", "a.public.b", "new", "a.requires"}) {
    TestProtos protos;
    const auto& file = protos.AddAndImport(
        "p.proto", absl::StrCat("syntax = 'proto3'; package ", package, "; message M {}"));
    const Output cpp = Generate(google::protobuf::compiler::cpp::CppGenerator(), file);
    ASSERT_TRUE(cpp.ok) << cpp.error;
    std::string opening;
    for (absl::string_view part : absl::StrSplit(PackageNamespace(file), "::")) {
      absl::StrAppend(&opening, "namespace ", part, " {\n");
    }
    EXPECT_THAT(cpp.files.at("p.pb.h"), HasSubstr(opening));
  }
}

TEST(PackageNamespace, IsEmptyWithoutAPackage) {
  TestProtos protos;
  EXPECT_EQ(PackageNamespace(protos.AddAndImport("p.proto", "syntax = 'proto3';")), "");
}

TEST(MessageName, IsProtobufsForNestedMessagesAndKeywords) {
  TestProtos protos;
  const auto& file = protos.AddAndImport("m.proto", R"(
      syntax = "proto3";
      package a.b;
      message Outer { message Inner {} }
      message class {}
  )");
  EXPECT_EQ(MessageName(*file.message_type(0)->nested_type(0)), "::a::b::Outer_Inner");
  EXPECT_EQ(MessageName(*file.message_type(1)), "::a::b::class_");
}

TEST(IncludeGuard, IsAnIdentifierThatDiffersForEveryPath) {
  EXPECT_EQ(IncludeGuard("a/b-c.v1.proto"), "LOCKET_a_2fb_2dc_2ev1_2eproto_H_");
  EXPECT_EQ(IncludeGuard("a_2eb.proto"), "LOCKET_a_5f2eb_2eproto_H_");
  EXPECT_EQ(IncludeGuard("a.b.proto"), "LOCKET_a_2eb_2eproto_H_");
}

}  // namespace
}  // namespace locket::codegen
