// For the tests of the plugin: protos from text or from the source tree, and output into memory.
#ifndef LOCKET_CODEGEN_TESTING_H_
#define LOCKET_CODEGEN_TESTING_H_

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.h>

#include <map>
#include <memory>
#include <string>

namespace locket::codegen {

// Imports what was added under that path, else the file of that path in the source tree, else what
// libprotobuf itself carries (google/protobuf/empty.proto, ...).
class TestProtos final : private google::protobuf::compiler::SourceTree,
                         private google::protobuf::compiler::MultiFileErrorCollector {
 public:
  TestProtos() : importer_(this, this) {}

  void Add(const std::string& path, const std::string& text) { added_[path] = text; }

  // Fails the test where the file is missing or wrong. Lives as long as this object.
  const google::protobuf::FileDescriptor& Import(const std::string& path);

  const google::protobuf::FileDescriptor& AddAndImport(const std::string& path,
                                                       const std::string& text) {
    Add(path, text);
    return Import(path);
  }

 private:
  google::protobuf::io::ZeroCopyInputStream* Open(const std::string& path) override;
  std::string GetLastErrorMessage() override { return "not found"; }
  void AddError(const std::string& path, int line, int column, const std::string& message) override;

  std::map<std::string, std::string> added_;
  google::protobuf::compiler::Importer importer_;
};

struct Output {
  bool ok = false;
  std::string error;
  std::map<std::string, std::string> files;  // path -> text
};

// What protoc gets from a generator for this file.
Output Generate(const google::protobuf::compiler::CodeGenerator& generator,
                const google::protobuf::FileDescriptor& file, const std::string& parameter = "");

std::string ReadFile(const std::string& path);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_TESTING_H_
