// protoc's view of the plugin: which protos it takes, and which files come out.
#ifndef LOCKET_CODEGEN_GENERATOR_H_
#define LOCKET_CODEGEN_GENERATOR_H_

#include <google/protobuf/compiler/code_generator.h>

#include <string>

namespace locket::codegen {

// Writes foo.locket.h and foo.locket.cc for foo.proto. Has no state; safe from any thread.
class Generator final : public google::protobuf::compiler::CodeGenerator {
 public:
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }

  // Errors name the service and the method; protobuf puts the file's name before them.
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context,
                std::string* error) const override;
};

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_GENERATOR_H_
