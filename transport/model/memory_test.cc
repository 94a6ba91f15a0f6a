// The memory model against the classic small programs: which outcomes C++ allows, and that exactly
// these are found.
#include "locket/transport/model/memory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "locket/transport/model/atomics.h"
#include "locket/transport/model/execution.h"
#include "locket/transport/model/explorer.h"

namespace locket::transport::model {
namespace {

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;
constexpr std::memory_order kAcquire = std::memory_order_acquire;
constexpr std::memory_order kRelease = std::memory_order_release;
constexpr std::memory_order kAcqRel = std::memory_order_acq_rel;
constexpr std::memory_order kSeqCst = std::memory_order_seq_cst;

using Outcomes = std::set<std::vector<uint64_t>>;

struct Words {
  Atomic<uint64_t> x, y;
  uint64_t plain = 0;
};

using Body = void (*)(Execution&, Words&);

Exploration Run(std::vector<Body> bodies) {
  const auto build = [&](Execution& run) {
    auto& words = run.New<Words>();
    run.Name(&words.x, "x", Role::kOther);
    run.Name(&words.y, "y", Role::kOther);
    run.Name(&words.plain, "plain", Role::kOther);
    for (const Body body : bodies) {
      run.AddThread("thread", [&run, &words, body] { body(run, words); });
    }
  };
  const Exploration found = Explore(build);
  // What the explorer leaves out makes no difference.
  const Exploration all = Explore(build, {}, {.saves_work = false});
  EXPECT_EQ(found.failure.empty(), all.failure.empty());
  EXPECT_EQ(found.outcomes, all.outcomes);
  EXPECT_LE(found.executions, all.executions);
  return found;
}

Outcomes OutcomesOf(std::vector<Body> bodies) {
  const Exploration found = Run(std::move(bodies));
  EXPECT_EQ(found.failure, "");
  EXPECT_TRUE(found.complete);
  return found.outcomes;
}

std::string FailureOf(std::vector<Body> bodies) { return Run(std::move(bodies)).failure; }

// ---- Store buffering

template <std::memory_order kStore, std::memory_order kLoad>
Outcomes StoreBuffering(bool left_fence, bool right_fence) {
  static bool left, right;
  left = left_fence;
  right = right_fence;
  return OutcomesOf({[](Execution& run, Words& words) {
                       words.x.store(1, kStore);
                       if (left) run.Fence(kSeqCst);
                       run.Outcome(0, words.y.load(kLoad));
                     },
                     [](Execution& run, Words& words) {
                       words.y.store(1, kStore);
                       if (right) run.Fence(kSeqCst);
                       run.Outcome(1, words.x.load(kLoad));
                     }});
}

TEST(MemoryTest, StoreBufferingNeedsAFenceOnBothSides) {
  const Outcomes any = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const Outcomes ordered = {{0, 1}, {1, 0}, {1, 1}};
  EXPECT_EQ((StoreBuffering<kRelaxed, kRelaxed>(false, false)), any);
  EXPECT_EQ((StoreBuffering<kRelease, kAcquire>(false, false)), any);
  EXPECT_EQ((StoreBuffering<kRelaxed, kRelaxed>(true, false)), any);
  EXPECT_EQ((StoreBuffering<kRelaxed, kRelaxed>(false, true)), any);
  EXPECT_EQ((StoreBuffering<kRelaxed, kRelaxed>(true, true)), ordered);
  EXPECT_EQ((StoreBuffering<kSeqCst, kSeqCst>(false, false)), ordered);
  EXPECT_EQ((StoreBuffering<kRelaxed, kSeqCst>(false, false)), any);
  EXPECT_EQ((StoreBuffering<kSeqCst, kAcquire>(false, false)), any);
}

// ---- Message passing

template <std::memory_order kStore, std::memory_order kLoad>
Outcomes MessagePassing() {
  return OutcomesOf({[](Execution&, Words& words) {
                       words.x.store(1, kRelaxed);
                       words.y.store(1, kStore);
                     },
                     [](Execution& run, Words& words) {
                       run.Outcome(0, words.y.load(kLoad));
                       run.Outcome(1, words.x.load(kRelaxed));
                     }});
}

TEST(MemoryTest, AMessageIsPassedByReleaseAndAcquireTogether) {
  const Outcomes any = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const Outcomes ordered = {{0, 0}, {0, 1}, {1, 1}};
  EXPECT_EQ((MessagePassing<kRelease, kAcquire>()), ordered);
  EXPECT_EQ((MessagePassing<kSeqCst, kSeqCst>()), ordered);
  EXPECT_EQ((MessagePassing<kRelaxed, kAcquire>()), any);
  EXPECT_EQ((MessagePassing<kRelease, kRelaxed>()), any);
}

TEST(MemoryTest, AMessageIsPassedByFencesAroundRelaxedAccesses) {
  EXPECT_EQ(OutcomesOf({[](Execution& run, Words& words) {
                          words.x.store(1, kRelaxed);
                          run.Fence(kRelease);
                          words.y.store(1, kRelaxed);
                        },
                        [](Execution& run, Words& words) {
                          run.Outcome(0, words.y.load(kRelaxed));
                          run.Fence(kAcquire);
                          run.Outcome(1, words.x.load(kRelaxed));
                        }}),
            (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
}

TEST(MemoryTest, AReadModifyWriteCarriesOnWhatItRead) {
  const Outcomes found =
      OutcomesOf({[](Execution&, Words& words) {
                    words.x.store(1, kRelaxed);
                    words.y.store(1, kRelease);
                  },
                  [](Execution&, Words& words) { words.y.fetch_add(1, kRelaxed); },
                  [](Execution& run, Words& words) {
                    run.Outcome(0, words.y.load(kAcquire));
                    run.Outcome(1, words.x.load(kRelaxed));
                  }});
  EXPECT_TRUE(found.contains({2, 1}));
  EXPECT_FALSE(found.contains({2, 0}));
  EXPECT_TRUE(found.contains({1, 0}));  // The addition alone, to the initial value.
}

TEST(MemoryTest, AStoreByAnotherThreadEndsAReleaseSequence) {
  const Outcomes found = OutcomesOf({[](Execution&, Words& words) {
                                       words.x.store(1, kRelaxed);
                                       words.y.store(1, kRelease);
                                     },
                                     [](Execution&, Words& words) { words.y.store(2, kRelaxed); },
                                     [](Execution& run, Words& words) {
                                       run.Outcome(0, words.y.load(kAcquire));
                                       run.Outcome(1, words.x.load(kRelaxed));
                                     }});
  EXPECT_TRUE(found.contains({2, 0}));
  EXPECT_FALSE(found.contains({1, 0}));
}

// ---- One location

TEST(MemoryTest, AThreadSeesTheStoresOfOneLocationInOneOrder) {
  EXPECT_EQ(OutcomesOf({[](Execution&, Words& words) {
                          words.x.store(1, kRelaxed);
                          words.x.store(2, kRelaxed);
                        },
                        [](Execution& run, Words& words) {
                          run.Outcome(0, words.x.load(kRelaxed));
                          run.Outcome(1, words.x.load(kRelaxed));
                        }}),
            (Outcomes{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}));
}

TEST(MemoryTest, TwoReadersAgreeOnTheOrderOfTwoStores) {
  const Outcomes found = OutcomesOf({[](Execution&, Words& words) { words.x.store(1, kRelaxed); },
                                     [](Execution&, Words& words) { words.x.store(2, kRelaxed); },
                                     [](Execution& run, Words& words) {
                                       run.Outcome(0, words.x.load(kRelaxed));
                                       run.Outcome(1, words.x.load(kRelaxed));
                                     },
                                     [](Execution& run, Words& words) {
                                       run.Outcome(2, words.x.load(kRelaxed));
                                       run.Outcome(3, words.x.load(kRelaxed));
                                     }});
  EXPECT_TRUE(found.contains({1, 2, 1, 2}));
  EXPECT_TRUE(found.contains({2, 1, 2, 1}));
  EXPECT_FALSE(found.contains({1, 2, 2, 1}));
}

TEST(MemoryTest, StoresToTwoLocationsMayEndCrossed) {
  // x.store(1); y.store(2) beside y.store(1); x.store(2): that both firsts end up last needs a
  // store which goes in front of one that was executed before it.
  const Outcomes found = OutcomesOf({[](Execution& run, Words& words) {
                                       words.x.store(1, kRelaxed);
                                       words.y.store(2, kRelaxed);
                                       run.Outcome(0, words.y.load(kRelaxed));
                                     },
                                     [](Execution& run, Words& words) {
                                       words.y.store(1, kRelaxed);
                                       words.x.store(2, kRelaxed);
                                       run.Outcome(1, words.x.load(kRelaxed));
                                     }});
  EXPECT_EQ(found, (Outcomes{{1, 1}, {1, 2}, {2, 1}, {2, 2}}));
}

TEST(MemoryTest, ReadModifyWritesLoseNothing) {
  const Body add = [](Execution&, Words& words) {
    const uint64_t found = words.x.fetch_add(1, kRelaxed);
    words.y.fetch_add(found, kRelaxed);
  };
  const Outcomes found = OutcomesOf({add, add, [](Execution& run, Words& words) {
                                       run.Outcome(0, words.x.fetch_add(1, kRelaxed));
                                     }});
  EXPECT_EQ(found, (Outcomes{{0}, {1}, {2}}));
}

TEST(MemoryTest, OneOfTwoCompareExchangesSucceeds) {
  const Outcomes found =
      OutcomesOf({[](Execution& run, Words& words) {
                    uint64_t expected = 0;
                    run.Outcome(0, words.x.compare_exchange_strong(expected, 1, kAcqRel, kRelaxed));
                  },
                  [](Execution& run, Words& words) {
                    uint64_t expected = 0;
                    run.Outcome(1, words.x.compare_exchange_strong(expected, 2, kAcqRel, kRelaxed));
                  }});
  EXPECT_EQ(found, (Outcomes{{0, 1}, {1, 0}}));
}

// ---- Three and four threads

template <std::memory_order kStore, std::memory_order kLoad>
Outcomes IndependentReads(bool fences) {
  static bool with_fences;
  with_fences = fences;
  return OutcomesOf({[](Execution&, Words& words) { words.x.store(1, kStore); },
                     [](Execution&, Words& words) { words.y.store(1, kStore); },
                     [](Execution& run, Words& words) {
                       run.Outcome(0, words.x.load(kLoad));
                       if (with_fences) run.Fence(kSeqCst);
                       run.Outcome(1, words.y.load(kLoad));
                     },
                     [](Execution& run, Words& words) {
                       run.Outcome(2, words.y.load(kLoad));
                       if (with_fences) run.Fence(kSeqCst);
                       run.Outcome(3, words.x.load(kLoad));
                     }});
}

TEST(MemoryTest, IndependentReadersAgreeOnlyBySequentialConsistency) {
  const std::vector<uint64_t> disagreeing = {1, 0, 1, 0};
  EXPECT_TRUE((IndependentReads<kRelaxed, kRelaxed>(false).contains(disagreeing)));
  EXPECT_TRUE((IndependentReads<kRelease, kAcquire>(false).contains(disagreeing)));
  EXPECT_FALSE((IndependentReads<kSeqCst, kSeqCst>(false).contains(disagreeing)));
  EXPECT_FALSE((IndependentReads<kRelaxed, kRelaxed>(true).contains(disagreeing)));
}

TEST(MemoryTest, WhatIsReadFromAThirdThreadIsPassedOn) {
  const Outcomes found = OutcomesOf({[](Execution&, Words& words) { words.x.store(1, kRelease); },
                                     [](Execution& run, Words& words) {
                                       const uint64_t seen = words.x.load(kAcquire);
                                       run.Outcome(0, seen);
                                       words.y.store(seen, kRelease);
                                     },
                                     [](Execution& run, Words& words) {
                                       run.Outcome(1, words.y.load(kAcquire));
                                       run.Outcome(2, words.x.load(kRelaxed));
                                     }});
  EXPECT_TRUE(found.contains({1, 1, 1}));
  EXPECT_FALSE(found.contains({1, 1, 0}));
}

// The limit of the model that memory.h names.
TEST(MemoryTest, NoLoadReturnsALaterStore) {
  EXPECT_EQ(OutcomesOf({[](Execution& run, Words& words) {
                          run.Outcome(0, words.x.load(kRelaxed));
                          words.y.store(1, kRelaxed);
                        },
                        [](Execution& run, Words& words) {
                          run.Outcome(1, words.y.load(kRelaxed));
                          words.x.store(1, kRelaxed);
                        }}),
            (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

// ---- Plain accesses

TEST(MemoryTest, PlainAccessesWithoutOrderAreARace) {
  const Body write = [](Execution& run, Words& words) { run.Write(&words.plain, 1); };
  const Body read = [](Execution& run, Words& words) { run.Read(&words.plain); };
  EXPECT_NE(FailureOf({write, read}), "");
  EXPECT_NE(FailureOf({read, write}), "");
  EXPECT_NE(FailureOf({write, write}), "");
  EXPECT_EQ(FailureOf({read, read}), "");
}

template <std::memory_order kStore, std::memory_order kLoad>
std::string Handover() {
  return FailureOf({[](Execution& run, Words& words) {
                      run.Write(&words.plain, 7);
                      words.x.store(1, kStore);
                    },
                    [](Execution& run, Words& words) {
                      if (words.x.load(kLoad) == 0) return;
                      run.Check(run.Read(&words.plain) == 7, "an old value");
                      run.Write(&words.plain, 8);
                    }});
}

TEST(MemoryTest, AHandoverByReleaseAndAcquireIsNoRace) {
  EXPECT_EQ((Handover<kRelease, kAcquire>()), "");
  EXPECT_NE((Handover<kRelaxed, kAcquire>()), "");
  EXPECT_NE((Handover<kRelease, kRelaxed>()), "");
}

// The order of fences is no synchronisation.
TEST(MemoryTest, FencesAloneHandNothingOver) {
  EXPECT_NE(FailureOf({[](Execution& run, Words& words) {
                         run.Write(&words.plain, 7);
                         run.Fence(kSeqCst);
                       },
                       [](Execution& run, Words& words) {
                         run.Fence(kSeqCst);
                         run.Read(&words.plain);
                       }}),
            "");
}

}  // namespace
}  // namespace locket::transport::model
