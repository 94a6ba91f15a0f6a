// How comments of a .proto become comments of the generated code.
#ifndef LOCKET_CODEGEN_COMMENTS_H_
#define LOCKET_CODEGEN_COMMENTS_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace locket::codegen {

// The text of a comment, as protobuf gives it (without // or /*), as lines that begin with //.
std::string CommentLines(const std::string& text);

// The comment before a service or method, then the one behind it. Not those that a blank line
// separates from it: they belong to the file.
template <typename Descriptor>
std::string CommentsOf(const Descriptor& descriptor) {
  google::protobuf::SourceLocation where;
  if (!descriptor.GetSourceLocation(&where)) return "";
  return absl::StrCat(CommentLines(where.leading_comments), CommentLines(where.trailing_comments));
}

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_COMMENTS_H_
