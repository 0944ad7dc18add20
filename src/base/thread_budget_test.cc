#include "base/thread_budget.h"

#include <gtest/gtest.h>
#include <vector>

namespace carillon {
namespace {

TEST(ThreadBudget, GivesFewerWhenThereAreFew) {
  ThreadBudget budget(100);
  std::vector<BudgetedThreads> shares;
  shares.emplace_back(&budget, 40);
  EXPECT_EQ(shares.back().count(), 40);
  shares.emplace_back(&budget, 40);
  EXPECT_EQ(shares.back().count(), 1);
  shares.emplace_back(&budget, 20);
  EXPECT_EQ(shares.back().count(), 20);
  for (int i = 0; i < 39; ++i) {
    shares.emplace_back(&budget, 30);
    EXPECT_EQ(shares.back().count(), 1);
  }
  EXPECT_EQ(BudgetedThreads(&budget, 1).count(), 0);
  shares.pop_back();
  EXPECT_EQ(BudgetedThreads(&budget, 1).count(), 1);
  EXPECT_EQ(BudgetedThreads(&budget, 1).count(), 1);
  shares.clear();
  EXPECT_EQ(BudgetedThreads(&budget, 50).count(), 50);
}

}  // namespace
}  // namespace carillon
