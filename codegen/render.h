// How a template becomes text.
#ifndef LOCKET_CODEGEN_RENDER_H_
#define LOCKET_CODEGEN_RENDER_H_

#include <map>
#include <string>

namespace locket::codegen {

// Replaces each $name$ of the template by its value, once (a $ in a value stays).
//
// A line that holds $name$ and nothing else is a block: it becomes all lines of the value, each
// indented as $name$ is, and no line where the value is empty. A newline at the template's very
// beginning is skipped, so that its text can begin below the R"(.
std::string Render(const std::string& text, const std::map<std::string, std::string>& values);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_RENDER_H_
