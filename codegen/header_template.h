// What a .locket.h looks like.
#ifndef LOCKET_CODEGEN_HEADER_TEMPLATE_H_
#define LOCKET_CODEGEN_HEADER_TEMPLATE_H_

#include <string>

#include "locket/codegen/description.h"

namespace locket::codegen {

std::string RenderHeader(const File& file);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_HEADER_TEMPLATE_H_
