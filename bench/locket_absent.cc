// In the place of locket_system.cc, for a benchmark of the rivals alone.
#include "locket/bench/system.h"

namespace locket::bench {

std::unique_ptr<System> MakeLocketSystem() { return nullptr; }

}  // namespace locket::bench
