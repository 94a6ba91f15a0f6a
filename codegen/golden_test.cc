// The plugin's output for each proto of codegen/testdata, byte for byte.
//
// After a wanted change:  bazel run //codegen:golden_test -- --update
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locket/codegen/generator.h"
#include "locket/codegen/testing.h"

namespace locket::codegen {
namespace {

constexpr char kFolder[] = "codegen/testdata";
constexpr char kUpdate[] = "bazel run //codegen:golden_test -- --update";

// Paths of the folder's files that end so, sorted.
std::vector<std::string> FilesEndingWith(const std::string& ending) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (const std::string path = entry.path().string(); path.ends_with(ending)) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::map<std::string, std::string> GeneratedFor(const std::string& proto) {
  TestProtos protos;
  const Output output = Generate(Generator(), protos.Import(proto));
  EXPECT_TRUE(output.ok) << output.error;
  return output.files;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, IsWhatThePluginWrites) {
  for (const auto& [path, text] : GeneratedFor(GetParam())) {
    EXPECT_EQ(ReadFile(path), text) << path << " differs. If that is wanted: " << kUpdate;
  }
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = std::filesystem::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Testdata, Golden, ::testing::ValuesIn(FilesEndingWith(".proto")),
                         TestName);

TEST(Goldens, HaveAProtoEach) {
  for (const std::string ending : {".locket.h", ".locket.cc"}) {
    for (const std::string& path : FilesEndingWith(ending)) {
      const std::string proto = path.substr(0, path.size() - ending.size()) + ".proto";
      EXPECT_TRUE(std::filesystem::exists(proto)) << path;
    }
  }
}

int Update() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "use " << kUpdate << "\n";
    return 1;
  }
  for (const std::string& proto : FilesEndingWith(".proto")) {
    for (const auto& [path, text] : GeneratedFor(proto)) {
      std::ofstream(std::filesystem::path(workspace) / path, std::ios::binary) << text;
      std::cout << path << "\n";
    }
  }
  return ::testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed() ? 1 : 0;
}

}  // namespace
}  // namespace locket::codegen

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc > 1 && std::string(argv[1]) == "--update") return locket::codegen::Update();
  return RUN_ALL_TESTS();
}
