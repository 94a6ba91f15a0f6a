#include "locket/codegen/names.h"

#include <google/protobuf/compiler/cpp/names.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace locket::codegen {
namespace {

namespace pb = google::protobuf;

constexpr const char* kKeywords[] = {
    // Keywords and alternative tokens.
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "co_await",
    "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast",
    "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast",
    "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast",
    "struct", "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef",
    "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    // Macros that the C library defines, or the compiler in its GNU modes.
    "EOF", "NULL", "assert", "errno", "linux", "major", "makedev", "minor", "offsetof", "stderr",
    "stdin", "stdout", "unix"};

void AddMessageNames(const pb::Descriptor& message, std::set<std::string>& names) {
  names.insert(pb::compiler::cpp::ClassName(&message));
  for (int i = 0; i < message.enum_type_count(); ++i) {
    names.insert(pb::compiler::cpp::ClassName(message.enum_type(i)));
  }
  for (int i = 0; i < message.nested_type_count(); ++i) {
    AddMessageNames(*message.nested_type(i), names);
  }
}

// The classes and enums that the .pb.h of `file`, and what it includes, define in `package`.
void AddClassNames(const pb::FileDescriptor& file, const std::string& package,
                   std::set<const pb::FileDescriptor*>& seen, std::set<std::string>& names) {
  if (!seen.insert(&file).second) return;
  if (file.package() == package) {
    for (int i = 0; i < file.enum_type_count(); ++i) {
      names.insert(pb::compiler::cpp::ClassName(file.enum_type(i)));
    }
    for (int i = 0; i < file.message_type_count(); ++i) {
      AddMessageNames(*file.message_type(i), names);
    }
  }
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddClassNames(*file.dependency(i), package, seen, names);
  }
}

}  // namespace

std::string PackageNamespace(const pb::FileDescriptor& file) {
  // libprotoc's own function for this is in no public header, but a message's name begins with it.
  pb::FileDescriptorProto probe;
  probe.set_name("probe.proto");
  probe.set_package(file.package());
  probe.add_message_type()->set_name("M");
  pb::DescriptorPool pool;
  const std::string name = MessageName(*pool.BuildFile(probe)->message_type(0));
  constexpr size_t kAround = 2 + 3;  // "::" before, "::M" behind
  return name.size() < kAround ? "" : name.substr(2, name.size() - kAround);
}

std::string MessageName(const pb::Descriptor& message) {
  return pb::compiler::cpp::QualifiedClassName(&message);
}

std::vector<std::string> ServiceNames(const pb::FileDescriptor& file) {
  std::vector<std::string> names;
  std::set<std::string> reserved = {"NewStub", "Service", "Stub", "StubInterface",
                                    "service_full_name"};
  if (file.package().empty()) reserved.insert({"google", "locket", "std"});
  for (int i = 0; i < file.service_count(); ++i) {
    names.push_back(file.service(i)->name());
    reserved.insert(MethodTableName(*file.service(i)));
  }
  std::set<const pb::FileDescriptor*> seen;
  AddClassNames(file, file.package(), seen, reserved);
  return Escape(names, reserved);
}

std::vector<std::string> MethodNames(const pb::ServiceDescriptor& service) {
  std::vector<std::string> names;
  names.reserve(service.method_count());
  for (int i = 0; i < service.method_count(); ++i) names.push_back(service.method(i)->name());
  return Escape(names, {"Service", "Stub", "StubInterface", "channel_", "methods_"});
}

std::string MethodTableName(const pb::ServiceDescriptor& service) {
  return absl::StrCat("k", service.name(), "Methods");
}

std::string StripProtoSuffix(const std::string& proto_path) {
  return pb::compiler::cpp::StripProto(proto_path);
}

std::string IncludeGuard(const std::string& proto_path) {
  std::string guard = "LOCKET_";
  for (const unsigned char c : proto_path) {
    if (absl::ascii_isalnum(c)) {
      guard.push_back(static_cast<char>(c));
    } else {
      absl::StrAppend(&guard, "_", absl::Hex(c, absl::kZeroPad2));
    }
  }
  return guard + "_H_";
}

std::vector<std::string> Escape(const std::vector<std::string>& names,
                                const std::set<std::string>& reserved) {
  const auto is_reserved = [&](const std::string& name) {
    return IsKeyword(name) || reserved.count(name) != 0;
  };
  std::set<std::string> used;
  for (const std::string& name : names) {
    if (!is_reserved(name)) used.insert(name);
  }
  std::vector<std::string> escaped;
  for (std::string name : names) {
    if (is_reserved(name)) {
      do {
        name.push_back('_');
      } while (is_reserved(name) || !used.insert(name).second);
    }
    escaped.push_back(name);
  }
  return escaped;
}

bool IsKeyword(const std::string& name) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), name) != std::end(kKeywords);
}

}  // namespace locket::codegen
