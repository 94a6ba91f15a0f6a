// The model check of ring and waiting: every execution of each scenario holds, and each mutant is
// caught. Prints how many executions that were, and each mutant with the scenario that caught it.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "locket/transport/model/explorer.h"
#include "locket/transport/model/mutant.h"
#include "locket/transport/model/scenarios.h"

namespace locket::transport::model {
namespace {

// CONTRIBUTING.md has the command for more than 1.
int Size() {
  int size = 1;
  const char* const asked = getenv("LOCKET_MODEL_SIZE");
  return asked != nullptr && absl::SimpleAtoi(asked, &size) ? size : 1;
}

class ModelTest : public testing::TestWithParam<Scenario> {};

double Seconds(clock_t since) { return static_cast<double>(clock() - since) / CLOCKS_PER_SEC; }

TEST_P(ModelTest, HoldsInEveryExecution) {
  const clock_t start = clock();
  Limits limits;
  if (Size() > 1) limits.executions = std::numeric_limits<uint64_t>::max();
  const Exploration found = Explore(GetParam().build, {}, limits);
  EXPECT_EQ(found.failure, "") << absl::StrJoin(found.log, "\n");
  EXPECT_TRUE(found.complete || !found.failure.empty()) << "too many executions";
  EXPECT_EQ(found.sleeps > 0, GetParam().sleeps);
  printf("scenario | %s | %llu executions | %llu states | longest %llu steps | %.1f s\n",
         GetParam().name.c_str(), static_cast<unsigned long long>(found.executions),
         static_cast<unsigned long long>(found.states),
         static_cast<unsigned long long>(found.longest), Seconds(start));
}

TEST_P(ModelTest, CatchesEachMutant) {
  ASSERT_FALSE(GetParam().mutants.empty());
  for (const Mutant& mutant : GetParam().mutants) {
    const Exploration found = Explore(GetParam().build, mutant);
    EXPECT_NE(found.failure, "") << "the mutant '" << mutant.name << "' was not caught";
    printf("mutant | %s | caught by | %s | %s | execution %llu\n", mutant.name,
           GetParam().name.c_str(), found.failure.c_str(),
           static_cast<unsigned long long>(found.executions));
    if (getenv("LOCKET_MODEL_LOG") != nullptr) {
      printf("  %s\n", absl::StrJoin(found.log, "\n  ").c_str());
    }
  }
}

std::string TestName(const testing::TestParamInfo<Scenario>& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, ModelTest, testing::ValuesIn(Scenarios(Size())), TestName);

}  // namespace
}  // namespace locket::transport::model
