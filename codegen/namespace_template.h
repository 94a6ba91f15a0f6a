// The namespace that generated services stand in, in the header and in the source.
#ifndef LOCKET_CODEGEN_NAMESPACE_TEMPLATE_H_
#define LOCKET_CODEGEN_NAMESPACE_TEMPLATE_H_

#include <string>

#include "locket/codegen/description.h"

namespace locket::codegen {

// The namespace's name in the generated code.
inline constexpr char kServicesNamespace[] = "locket_services";

// `services` inside the namespace; nothing where the file has no services.
std::string RenderNamespace(const File& file, const std::string& services);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_NAMESPACE_TEMPLATE_H_
