// protoc-gen-locket: protoc --plugin=protoc-gen-locket=PATH --locket_out=DIR foo.proto
#include <google/protobuf/compiler/plugin.h>

#include "locket/codegen/generator.h"

int main(int argc, char** argv) {
  const locket::codegen::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
