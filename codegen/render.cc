#include "locket/codegen/render.h"

#include <google/protobuf/io/printer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace locket::codegen {
namespace {

std::vector<std::string> Lines(absl::string_view text) {
  absl::ConsumeSuffix(&text, "\n");
  return absl::StrSplit(text, '\n');
}

// "name" for a line "  $name$", else "".
std::string BlockName(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "$") || !absl::ConsumeSuffix(&line, "$")) return "";
  return line.find('$') == absl::string_view::npos ? std::string(line) : "";
}

}  // namespace

std::string Render(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string result;
  google::protobuf::io::StringOutputStream stream(&result);
  google::protobuf::io::Printer printer(&stream, '$');
  for (const std::string& line : Lines(absl::StripPrefix(text, "\n"))) {
    const std::string block = BlockName(line);
    if (block.empty()) {
      printer.Print(values, absl::StrCat(line, "\n").c_str());
      continue;
    }
    const std::string& value = values.at(block);
    if (value.empty()) continue;
    const std::string indent = line.substr(0, line.find('$'));
    for (const std::string& inner : Lines(value)) {
      printer.PrintRaw(inner.empty() ? "\n" : absl::StrCat(indent, inner, "\n"));
    }
  }
  return result;
}

}  // namespace locket::codegen
