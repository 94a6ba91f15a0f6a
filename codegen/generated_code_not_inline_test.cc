// As a translation unit that also includes grpc++'s stubs, which own the plain names.
#define LOCKET_SERVICES_NOT_INLINE
#include "codegen/testdata/helloworld.locket.h"

namespace hello = codegen::testdata::helloworld;

namespace codegen::testdata::helloworld {
struct Greeter {  // grpc++'s
  int other;
};
}  // namespace codegen::testdata::helloworld

const char* FullNameSeenNotInline();
hello::locket_services::Greeter::Service* NewServiceSeenNotInline();

const char* FullNameSeenNotInline() { return hello::locket_services::Greeter::service_full_name(); }

hello::locket_services::Greeter::Service* NewServiceSeenNotInline() {
  static_assert(sizeof(hello::Greeter) == sizeof(int), "the plain name is not ours");
  return new hello::locket_services::Greeter::Service();
}
