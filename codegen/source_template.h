// What a .locket.cc looks like.
#ifndef LOCKET_CODEGEN_SOURCE_TEMPLATE_H_
#define LOCKET_CODEGEN_SOURCE_TEMPLATE_H_

#include <string>

#include "locket/codegen/description.h"

namespace locket::codegen {

std::string RenderSource(const File& file);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_SOURCE_TEMPLATE_H_
