// C++ names for what a .proto names.
//
// Messages have the names that protobuf gives them: libprotoc is asked, never imitated. Services
// and methods keep their own names, except that a name which cannot stand in the generated code
// gets a trailing underscore, and another one until nobody else has it:
//   - C++ keywords (up to C++20) and macros of the C library:  delete -> delete_
//   - services named as a member of the generated class:       Service -> Service_
//   - services named as protobuf names a message or an enum
//     of the same package:                                     Outer_Inner -> Outer_Inner_
//   - methods named as a class or data member of the
//     generated classes:                                       Stub -> Stub_
// A name that needs no change is never changed by another one's change. The names on the wire are
// those of the .proto in every case.
#ifndef LOCKET_CODEGEN_NAMES_H_
#define LOCKET_CODEGEN_NAMES_H_

#include <google/protobuf/descriptor.h>

#include <set>
#include <string>
#include <vector>

namespace locket::codegen {

// "a::b" for package a.b, "" for none: the namespace that the .pb.h opens. (protobuf up to 3.21
// writes `namespace public` for package public, which no compiler takes; later ones escape it.)
std::string PackageNamespace(const google::protobuf::FileDescriptor& file);

// "::a::b::Outer_Inner".
std::string MessageName(const google::protobuf::Descriptor& message);

// The class of each service of the file, in the file's order.
std::vector<std::string> ServiceNames(const google::protobuf::FileDescriptor& file);

// The member function of each method of the service, in the service's order.
std::vector<std::string> MethodNames(const google::protobuf::ServiceDescriptor& service);

// The constant in the .cc that lists the service's methods; no service has this name.
std::string MethodTableName(const google::protobuf::ServiceDescriptor& service);

// "foo/bar" for foo/bar.proto.
std::string StripProtoSuffix(const std::string& proto_path);

// A macro of this .proto's own, "LOCKET_foo_2fbar_2eproto_H_".
std::string IncludeGuard(const std::string& proto_path);

// The rule above: `names` with underscores where a name is reserved. Names of `names` are distinct.
std::vector<std::string> Escape(const std::vector<std::string>& names,
                                const std::set<std::string>& reserved);

// A keyword or a macro, in any C++ from 17 to 20.
bool IsKeyword(const std::string& name);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_NAMES_H_
