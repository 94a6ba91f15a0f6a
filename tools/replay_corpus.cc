// Runs a fuzzer's function over the files of its corpus, as an ordinary test, with any compiler.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

TEST(CorpusTest, EachInputOfTheCorpusIsSurvived) {
  const char* const corpus = getenv("CORPUS");
  ASSERT_NE(corpus, nullptr);
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(corpus)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  ASSERT_FALSE(files.empty());
  LLVMFuzzerTestOneInput(nullptr, 0);
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(stream)), {});
    // A crash names its file: it is the last one in the log.
    printf("%s\n", file.c_str());
    fflush(stdout);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
}

}  // namespace
