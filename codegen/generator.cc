#include "locket/codegen/generator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "locket/codegen/description.h"
#include "locket/codegen/header_template.h"
#include "locket/codegen/namespace_template.h"
#include "locket/codegen/source_template.h"

namespace locket::codegen {
namespace {

namespace pb = google::protobuf;

// Each of these returns what is wrong, or "".

std::string CheckParameter(const std::string& parameter) {
  if (parameter.empty()) return "";
  return absl::StrCat("unknown parameter \"", parameter,
                      "\" of --locket_out: protoc-gen-locket takes none");
}

std::string CheckGenericServices(const pb::FileDescriptor& file) {
  if (!file.options().cc_generic_services()) return "";
  return "protoc-gen-locket does not go together with protobuf's generic services, whose classes "
         "have the same names: remove \"option cc_generic_services = true\"";
}

std::string CheckServicesNamespace(const pb::FileDescriptor& file) {
  if (file.service_count() == 0) return "";
  const std::string taken =
      absl::StrCat(file.package(), file.package().empty() ? "" : ".", kServicesNamespace);
  const pb::FileDescriptor* owner = file.pool()->FindFileContainingSymbol(taken);
  if (owner == nullptr) return "";
  return absl::StrCat("the services are put into a namespace ", kServicesNamespace, ", but ", taken,
                      " in ", owner->name(), " already has that name");
}

std::string CheckMethods(const pb::FileDescriptor& file) {
  for (int i = 0; i < file.service_count(); ++i) {
    const pb::ServiceDescriptor& service = *file.service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      const pb::MethodDescriptor& method = *service.method(j);
      if (method.client_streaming() || method.server_streaming()) {
        return absl::StrCat("service ", service.name(), ", method ", method.name(),
                            ": streaming methods are not yet supported");
      }
    }
  }
  return "";
}

void Write(const std::string& text, const std::string& path,
           pb::compiler::GeneratorContext& context) {
  const std::unique_ptr<pb::io::ZeroCopyOutputStream> stream(context.Open(path));
  pb::io::CodedOutputStream(stream.get()).WriteString(text);
}

}  // namespace

bool Generator::Generate(const pb::FileDescriptor* file, const std::string& parameter,
                         pb::compiler::GeneratorContext* context, std::string* error) const {
  for (const std::string& wrong : {CheckParameter(parameter), CheckGenericServices(*file),
                                   CheckServicesNamespace(*file), CheckMethods(*file)}) {
    if (!wrong.empty()) {
      *error = wrong;
      return false;
    }
  }
  const File description = Describe(*file);
  Write(RenderHeader(description), absl::StrCat(description.base, ".locket.h"), *context);
  Write(RenderSource(description), absl::StrCat(description.base, ".locket.cc"), *context);
  return true;
}

}  // namespace locket::codegen
