#ifndef LOCKET_EXAMPLES_HELLOWORLD_MEDIAN_H_
#define LOCKET_EXAMPLES_HELLOWORLD_MEDIAN_H_

#include <algorithm>
#include <chrono>
#include <vector>

namespace helloworld {

// The median in microseconds; `times` is not empty.
inline double MedianMicros(std::vector<std::chrono::nanoseconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return std::chrono::duration<double, std::micro>(*middle).count();
}

}  // namespace helloworld

#endif  // LOCKET_EXAMPLES_HELLOWORLD_MEDIAN_H_
