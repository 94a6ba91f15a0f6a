// Generated code stops, naming both versions, where the Locket headers are of another one.
// Runs the compilers that the machine has.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locket::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Compilation {
  bool ok;
  std::string messages;
};

Compilation Shell(const std::string& command) {
  Compilation result = {};
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  for (int c; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) {
    result.messages.push_back(static_cast<char>(c));
  }
  result.ok = pipe != nullptr && pclose(pipe) == 0;
  return result;
}

class VersionCheck : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!Shell("command -v " + GetParam()).ok) GTEST_SKIP() << "no " << GetParam();
  }

  // Compiles the golden header of a file without services beside Locket headers of this content.
  Compilation CompileWith(const std::string& generated_support) {
    const std::filesystem::path root =
        std::filesystem::path(::testing::TempDir()) / ("version_check_" + GetParam());
    const auto write = [&](const std::string& path, const std::string& text) {
      std::filesystem::create_directories((root / path).parent_path());
      std::ofstream(root / path) << text;
    };
    write("locket/rpc/generated_support.h", generated_support);
    write("codegen/testdata/imported.pb.h", "");
    return Shell(GetParam() + " -std=c++17 -fsyntax-only -I'" + root.string() +
                 "' -I. codegen/testdata/imported.locket.cc");
  }
};

constexpr char kStringify[] =
    "#define LOCKET_STRINGIFY_(x) #x\n"
    "#define LOCKET_STRINGIFY(x) LOCKET_STRINGIFY_(x)\n";

TEST_P(VersionCheck, PassesHeadersOfItsVersion) {
  const Compilation result =
      CompileWith(std::string(kStringify) + "#define LOCKET_GENERATED_CODE_VERSION 1\n");
  EXPECT_TRUE(result.ok);
  EXPECT_EQ(result.messages, "");
}

TEST_P(VersionCheck, StopsAtHeadersOfAnotherVersionAndNamesBoth) {
  const Compilation result =
      CompileWith(std::string(kStringify) + "#define LOCKET_GENERATED_CODE_VERSION 77\n");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.messages,
              AllOf(HasSubstr("codegen/testdata/imported.locket.h is generated code of version 1"),
                    HasSubstr("headers found here take generated code of version 77")));
}

TEST_P(VersionCheck, StopsAtHeadersThatNameNoVersion) {
  const Compilation result = CompileWith("");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.messages,
              AllOf(HasSubstr("codegen/testdata/imported.locket.h is generated code of version 1"),
                    HasSubstr("older than version 1"), Not(HasSubstr("take generated code of"))));
}

INSTANTIATE_TEST_SUITE_P(Compilers, VersionCheck, ::testing::Values("g++", "clang++"),
                         [](const auto& info) {
                           return std::string(info.param == "g++" ? "Gcc" : "Clang");
                         });

}  // namespace
}  // namespace locket::codegen
