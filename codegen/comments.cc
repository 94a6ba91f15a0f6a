#include "locket/codegen/comments.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace locket::codegen {

std::string CommentLines(const std::string& text) {
  const absl::string_view body = absl::StripTrailingAsciiWhitespace(text);
  if (body.empty()) return "";
  std::string lines;
  for (absl::string_view line : absl::StrSplit(body, '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    // SUBTLE: a backslash at the end would make the next line, perhaps a declaration, part of the
    // comment. A space behind it does not help: g++ looks past it.
    absl::StrAppend(&lines, "//", line, absl::EndsWith(line, "\\") ? " //\n" : "\n");
  }
  return lines;
}

}  // namespace locket::codegen
