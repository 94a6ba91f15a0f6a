#include "locket/codegen/testing.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "gtest/gtest.h"

namespace locket::codegen {
namespace {

namespace pb = google::protobuf;

// A stream that owns its bytes.
class StringInputStream final : public pb::io::ZeroCopyInputStream {
 public:
  explicit StringInputStream(std::string text) : text_(std::move(text)) {}
  bool Next(const void** data, int* size) override { return stream_.Next(data, size); }
  void BackUp(int count) override { stream_.BackUp(count); }
  bool Skip(int count) override { return stream_.Skip(count); }
  int64_t ByteCount() const override { return stream_.ByteCount(); }

 private:
  const std::string text_;
  pb::io::ArrayInputStream stream_{text_.data(), static_cast<int>(text_.size())};
};

class MemoryContext final : public pb::compiler::GeneratorContext {
 public:
  explicit MemoryContext(std::map<std::string, std::string>& files) : files_(files) {}
  pb::io::ZeroCopyOutputStream* Open(const std::string& path) override {
    EXPECT_EQ(files_.count(path), 0u) << path << " is written twice";
    return new pb::io::StringOutputStream(&files_[path]);
  }

 private:
  std::map<std::string, std::string>& files_;
};

}  // namespace

const pb::FileDescriptor& TestProtos::Import(const std::string& path) {
  const pb::FileDescriptor* file = importer_.Import(path);
  if (file != nullptr) return *file;
  ADD_FAILURE() << "cannot import " << path;
  return *pb::DescriptorPool::generated_pool()->FindFileByName("google/protobuf/empty.proto");
}

pb::io::ZeroCopyInputStream* TestProtos::Open(const std::string& path) {
  if (const auto added = added_.find(path); added != added_.end()) {
    return new StringInputStream(added->second);
  }
  if (std::ifstream(path)) return new StringInputStream(ReadFile(path));
  const pb::FileDescriptor* known = pb::DescriptorPool::generated_pool()->FindFileByName(path);
  return known == nullptr ? nullptr : new StringInputStream(known->DebugString());
}

void TestProtos::AddError(const std::string& path, int line, int column,
                          const std::string& message) {
  ADD_FAILURE() << path << ":" << line + 1 << ":" << column + 1 << ": " << message;
}

Output Generate(const pb::compiler::CodeGenerator& generator, const pb::FileDescriptor& file,
                const std::string& parameter) {
  Output output;
  MemoryContext context(output.files);
  output.ok = generator.GenerateAll({&file}, parameter, &context, &output.error);
  return output;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace locket::codegen
