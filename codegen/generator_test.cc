// What the plugin refuses, in which words, and what it must not refuse.
#include "locket/codegen/generator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locket/codegen/testing.h"

namespace locket::codegen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;

constexpr char kHeader[] = "syntax = 'proto3'; package p; message M {}\n";

Output GenerateFoo(const std::string& text, const std::string& parameter = "") {
  TestProtos protos;
  return Generate(Generator(), protos.AddAndImport("dir/foo.proto", kHeader + text), parameter);
}

TEST(Generator, WritesAHeaderAndASource) {
  const Output output = GenerateFoo("service S { rpc A(M) returns (M); }");
  EXPECT_TRUE(output.ok) << output.error;
  EXPECT_THAT(output.files, ElementsAre(Key("dir/foo.locket.cc"), Key("dir/foo.locket.h")));
}

TEST(Generator, WritesBothFilesWithoutServices) {
  const Output output = GenerateFoo("");
  EXPECT_TRUE(output.ok) << output.error;
  EXPECT_THAT(output.files, ElementsAre(Key("dir/foo.locket.cc"), Key("dir/foo.locket.h")));
}

TEST(Generator, RefusesStreamsAndNamesFileServiceAndMethod) {
  for (const char* method : {"rpc Watch(stream M) returns (M);", "rpc Watch(M) returns (stream M);",
                             "rpc Watch(stream M) returns (stream M);"}) {
    const Output output =
        GenerateFoo(std::string("service S { rpc A(M) returns (M); ") + method + " }");
    EXPECT_FALSE(output.ok);
    EXPECT_EQ(output.error,
              "dir/foo.proto: service S, method Watch: streaming methods are not yet supported");
    EXPECT_THAT(output.files, IsEmpty());
  }
}

TEST(Generator, RefusesGenericServices) {
  const Output output = GenerateFoo("option cc_generic_services = true;");
  EXPECT_FALSE(output.ok);
  EXPECT_THAT(output.error, HasSubstr("dir/foo.proto: "));
  EXPECT_THAT(output.error, HasSubstr("remove \"option cc_generic_services = true\""));
  EXPECT_TRUE(GenerateFoo("option cc_generic_services = false;").ok);
}

TEST(Generator, RefusesUnknownParameters) {
  const Output output = GenerateFoo("", "generate_mock_code=true");
  EXPECT_FALSE(output.ok);
  EXPECT_THAT(output.error, HasSubstr("unknown parameter \"generate_mock_code=true\""));
}

TEST(Generator, RefusesWhatTakesTheNameOfItsNamespace) {
  const Output output = GenerateFoo("message locket_services {} service S {}");
  EXPECT_FALSE(output.ok);
  EXPECT_THAT(output.error, HasSubstr("p.locket_services in dir/foo.proto"));
  EXPECT_TRUE(GenerateFoo("message locket_services {}").ok) << "no services, no namespace";
}

TEST(Generator, RefusesAnImportedPackageThatTakesTheNameOfItsNamespace) {
  TestProtos protos;
  protos.Add("other.proto", "syntax = 'proto3'; package p.locket_services; message N {}");
  const Output output = Generate(Generator(), protos.AddAndImport("foo.proto", R"(
          syntax = "proto3";
          package p;
          import "other.proto";
          service S { rpc A(p.locket_services.N) returns (p.locket_services.N); }
      )"));
  EXPECT_FALSE(output.ok);
  EXPECT_THAT(output.error, HasSubstr("p.locket_services in other.proto"));
}

TEST(Generator, DeclaresProto3Optional) {
  EXPECT_TRUE(Generator().GetSupportedFeatures() & Generator::FEATURE_PROTO3_OPTIONAL);
}

TEST(Generator, KeepsTheWireNamesOfRenamedServicesAndMethods) {
  const Output output = GenerateFoo("service Stub { rpc delete(M) returns (M); }");
  EXPECT_THAT(output.files.at("dir/foo.locket.h"), HasSubstr("return \"p.Stub\";"));
  EXPECT_THAT(output.files.at("dir/foo.locket.cc"), HasSubstr("\"/p.Stub/delete\""));
}

TEST(Generator, DefinesNoMacroButItsGuard) {
  std::string header =
      GenerateFoo("service S { rpc A(M) returns (M); }").files.at("dir/foo.locket.h");
  const std::string guard = "#define LOCKET_dir_2ffoo_2eproto_H_\n";
  ASSERT_THAT(header, HasSubstr(guard));
  header.erase(header.find(guard), guard.size());
  EXPECT_THAT(header, Not(HasSubstr("#define")));
}

}  // namespace
}  // namespace locket::codegen
