// Explores all executions of a small program.
//
// An execution is a sequence of choices (execution.h, memory.h). The explorer runs the program
// again and again, each time with the next sequence, in depth-first order. Where an execution comes
// to a state in which another one has been, it goes no further: from there both go on equally. A
// state is known by a hash of 64 bits of all that each thread has done and seen, the order of the
// stores, and who sleeps; so no execution is left out, but for two states of one hash (of a million
// states, one pair has it with a probability of 1 in 10^7).
#ifndef LOCKET_TRANSPORT_MODEL_EXPLORER_H_
#define LOCKET_TRANSPORT_MODEL_EXPLORER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "locket/transport/model/execution.h"
#include "locket/transport/model/mutant.h"

namespace locket::transport::model {

struct Exploration {
  uint64_t executions = 0;  // Those that were run, whether to their end or to a known state.
  uint64_t states = 0;
  uint64_t sleeps = 0;   // How often a thread slept, all executions taken together.
  uint64_t longest = 0;  // Steps of the longest execution.
  bool complete = false;
  // Of the first execution that failed: why, and its steps; empty if none did.
  std::string failure;
  std::vector<std::string> log;
  // What the executions that ran to their end gave to Outcome().
  std::set<std::vector<uint64_t>> outcomes;
};

struct Limits {
  uint64_t executions = 20'000'000;
  // False: neither leaves out orders (execution.h) nor stops at known states. For tests of the
  // explorer.
  bool saves_work = true;
};

// Stops at the first failure, and at the limit (then `complete` is false).
Exploration Explore(const std::function<void(Execution&)>& build, const Mutant& mutant = {},
                    const Limits& limits = {});

}  // namespace locket::transport::model

#endif  // LOCKET_TRANSPORT_MODEL_EXPLORER_H_
