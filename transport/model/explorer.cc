#include "locket/transport/model/explorer.h"

#include <algorithm>
#include <memory>

#include "absl/container/flat_hash_set.h"

namespace locket::transport::model {
namespace {

// A depth-first walk over sequences of choices.
class DepthFirst final : public Decider {
 public:
  explicit DepthFirst(bool stops_at_known_states) : stops_at_known_states_(stops_at_known_states) {}

  size_t Choose(size_t count) override {
    if (at_ == path_.size()) path_.push_back({0, count});
    return path_[at_++].chosen;
  }

  bool Known(uint64_t state) override {
    // While it follows an earlier execution to the point where it differs.
    if (at_ < path_.size()) return false;
    return !states_.insert(state).second && stops_at_known_states_;
  }

  // On to the next sequence; false if there is none.
  bool Advance() {
    at_ = 0;
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

  // Once more the present sequence, to its end.
  void Repeat() {
    at_ = 0;
    states_.clear();
  }

  size_t states() const { return states_.size(); }

 private:
  struct Choice {
    size_t chosen;
    size_t count;
  };
  const bool stops_at_known_states_;
  std::vector<Choice> path_;
  size_t at_ = 0;
  absl::flat_hash_set<uint64_t> states_;
};

}  // namespace

Exploration Explore(const std::function<void(Execution&)>& build, const Mutant& mutant,
                    const Limits& limits) {
  DepthFirst walk(/*stops_at_known_states=*/limits.saves_work);
  const auto execution = std::make_unique<Execution>(walk);
  if (!limits.saves_work) execution->DoNotReduce();
  Exploration found;
  do {
    if (found.executions == limits.executions) return found;
    const Execution::End end = execution->Run(build, mutant, /*log=*/false);
    ++found.executions;
    found.sleeps += execution->sleeps();
    found.longest = std::max(found.longest, execution->steps());
    found.states = walk.states();
    if (end == Execution::End::kFinished) found.outcomes.insert(execution->outcome());
    if (end != Execution::End::kFailed) continue;
    walk.Repeat();
    execution->Run(build, mutant, /*log=*/true);
    found.failure = execution->failure();
    found.log = execution->log();
    return found;
  } while (walk.Advance());
  found.complete = true;
  return found;
}

}  // namespace locket::transport::model
