#include "locket/codegen/namespace_template.h"

#include "absl/strings/str_cat.h"
#include "locket/codegen/render.h"

namespace locket::codegen {
namespace {

constexpr char kNamespace[] = R"(

$open_package$
LOCKET_SERVICES_INLINE namespace $services_namespace$ {

$services$
}  // namespace $services_namespace$
$close_package$
)";

}  // namespace

std::string RenderNamespace(const File& file, const std::string& services) {
  if (file.services.empty()) return "";
  const std::string& package = file.package_namespace;
  return Render(
      kNamespace,
      {{"open_package", package.empty() ? "" : absl::StrCat("namespace ", package, " {")},
       {"close_package", package.empty() ? "" : absl::StrCat("}  // namespace ", package)},
       {"services_namespace", kServicesNamespace},
       {"services", services}});
}

}  // namespace locket::codegen
