// The small programs by which the model check looks at the ring and the waiting, and the faults
// that each of them must reveal.
#ifndef LOCKET_TRANSPORT_MODEL_SCENARIOS_H_
#define LOCKET_TRANSPORT_MODEL_SCENARIOS_H_

#include <functional>
#include <string>
#include <vector>

#include "locket/transport/model/execution.h"
#include "locket/transport/model/mutant.h"

namespace locket::transport::model {

struct Scenario {
  std::string name;
  // Over the code as it ships, or over that without the free line (Mutant::line_stays_free).
  std::function<void(Execution&)> build;
  // Whether a thread must be seen to sleep; else the scenario would show less than it says.
  bool sleeps;
  std::vector<Mutant> mutants;
};

// `size` 1 is what CI explores; each step more sends one record more, at fifty times the cost.
std::vector<Scenario> Scenarios(int size);

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_SCENARIOS_H_
