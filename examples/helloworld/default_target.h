#ifndef LOCKET_EXAMPLES_HELLOWORLD_DEFAULT_TARGET_H_
#define LOCKET_EXAMPLES_HELLOWORLD_DEFAULT_TARGET_H_

#include <unistd.h>

#include <string>

namespace helloworld {

// Where client and server meet unless --target says otherwise: an abstract socket name, which
// leaves no file behind, with the user's number in it, so that two users do not meet by accident.
inline std::string DefaultTarget() {
  return "unix-abstract:locket-helloworld-" + std::to_string(getuid());
}

}  // namespace helloworld

#endif  // LOCKET_EXAMPLES_HELLOWORLD_DEFAULT_TARGET_H_
