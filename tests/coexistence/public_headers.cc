// Compiles as C++17 without exceptions and RTTI, or the build fails.
#include "tests/coexistence/public_headers.h"
