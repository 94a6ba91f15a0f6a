// What the templates need to know of a .proto: names are C++ names, ready to be written.
#ifndef LOCKET_CODEGEN_DESCRIPTION_H_
#define LOCKET_CODEGEN_DESCRIPTION_H_

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace locket::codegen {

struct Method {
  std::string name;
  std::string path;      // on the wire: "/helloworld.Greeter/SayHello"
  std::string request;   // "::helloworld::HelloRequest"
  std::string response;  // "::helloworld::HelloReply"
  std::string comment;   // lines that begin with //, or empty
};

struct Service {
  std::string name;
  std::string full_name;     // in the .proto: "helloworld.Greeter"
  std::string method_table;  // the constant in the .cc that lists the paths of the methods
  std::string comment;
  std::vector<Method> methods;
};

struct File {
  std::string proto;  // "foo/bar.proto"
  std::string base;   // "foo/bar"
  std::string guard;
  std::string package_namespace;  // "a::b", or empty
  std::vector<Service> services;
};

File Describe(const google::protobuf::FileDescriptor& file);

}  // namespace locket::codegen

#endif  // LOCKET_CODEGEN_DESCRIPTION_H_
