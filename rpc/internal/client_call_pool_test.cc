// Which call object the next call gets.
#include "locket/rpc/internal/client_call_pool.h"

#include "gtest/gtest.h"

namespace locket::internal {
namespace {

TEST(ClientCallPoolTest, TheLastOneGivenComesFirst) {
  ClientCallPool pool;
  ClientCall& a = pool.Take();
  ClientCall& b = pool.Take();
  ASSERT_NE(&a, &b);
  b.Done();
  pool.Give(b);
  a.Done();
  pool.Give(a);
  EXPECT_EQ(&pool.Take(), &a);
  EXPECT_EQ(&pool.Take(), &b);
}

TEST(ClientCallPoolTest, ACallWhoseOwnerStillParsesIsNotTaken) {
  ClientCallPool pool;
  ClientCall& idle = pool.Take();
  ClientCall& parsing = pool.Take();
  idle.Done();
  pool.Give(idle);
  pool.Give(parsing);
  EXPECT_EQ(&pool.Take(), &idle);
  EXPECT_NE(&pool.Take(), &parsing) << "a new one";
  parsing.Done();
  EXPECT_EQ(&pool.Take(), &parsing);
}

}  // namespace
}  // namespace locket::internal
