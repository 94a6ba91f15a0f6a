#include "locket/codegen/description.h"

#include "absl/strings/str_cat.h"
#include "locket/codegen/comments.h"
#include "locket/codegen/names.h"

namespace locket::codegen {
namespace {

namespace pb = google::protobuf;

Method DescribeMethod(const pb::MethodDescriptor& method, const std::string& name) {
  return {.name = name,
          .path = absl::StrCat("/", method.service()->full_name(), "/", method.name()),
          .request = MessageName(*method.input_type()),
          .response = MessageName(*method.output_type()),
          .comment = CommentsOf(method)};
}

Service DescribeService(const pb::ServiceDescriptor& service, const std::string& name) {
  Service result = {.name = name,
                    .full_name = service.full_name(),
                    .method_table = MethodTableName(service),
                    .comment = CommentsOf(service),
                    .methods = {}};
  const std::vector<std::string> names = MethodNames(service);
  for (int i = 0; i < service.method_count(); ++i) {
    result.methods.push_back(DescribeMethod(*service.method(i), names[i]));
  }
  return result;
}

}  // namespace

File Describe(const pb::FileDescriptor& file) {
  File result = {.proto = file.name(),
                 .base = StripProtoSuffix(file.name()),
                 .guard = IncludeGuard(file.name()),
                 .package_namespace = PackageNamespace(file),
                 .services = {}};
  const std::vector<std::string> names = ServiceNames(file);
  for (int i = 0; i < file.service_count(); ++i) {
    result.services.push_back(DescribeService(*file.service(i), names[i]));
  }
  return result;
}

}  // namespace locket::codegen
