#include "base/work_scope.h"

#include <gtest/gtest.h>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/throw.h"

namespace carillon {
namespace {

class Budget final : public MemoryBudget {
 public:
  explicit Budget(int64_t limit) : limit_(limit) {}
  bool Charge(int64_t bytes) override {
    if (bytes > limit_ - charged) return false;
    charged += bytes;
    most = std::max(most, charged);
    return true;
  }
  void Discharge(int64_t bytes) override { charged -= bytes; }
  int64_t charged = 0, most = 0;

 private:
  const int64_t limit_;
};

class Flag final : public CancelFlag {
 public:
  bool IsCancelled() const override { return is_set; }
  bool is_set = false;
};

class WorkScopeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  }
};

TEST_F(WorkScopeTest, LargePiecesCountUntilTheScopeEnds) {
  Budget budget(10 << 20);
  std::string kept;
  {
    const WorkScope scope(&budget, nullptr);
    kept.resize(3 << 20);
    EXPECT_GE(budget.charged, (3 << 20) - (64 << 10));
    EXPECT_LE(budget.charged, 4 << 20);
  }
  EXPECT_EQ(budget.charged, 0);
}

TEST_F(WorkScopeTest, ManySmallPiecesAreTooMuchInTheEnd) {
  Budget budget(10 << 20);
  std::list<std::string> pieces;
  const Status status = CatchAsStatus([&] {
    const WorkScope scope(&budget, nullptr);
    for (int i = 0; i < 10'000'000; ++i) pieces.emplace_back(50, 'x');
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "the memory limit is reached");
  EXPECT_GT(pieces.size(), 50'000);   // ten megabytes of them
  EXPECT_LT(pieces.size(), 110'000);  // a string and a link take more than 100 bytes
  EXPECT_EQ(budget.charged, 0);
}

TEST_F(WorkScopeTest, WhatIsGivenBackCountsNoMore) {
  Budget budget(10 << 20);
  const WorkScope scope(&budget, nullptr);
  for (int i = 0; i < 1000; ++i) std::string(1 << 20, 'x');
  EXPECT_LE(budget.most, 2 << 20);
}

TEST_F(WorkScopeTest, WhatIsOlderThanTheScopeGivesNoCredit) {
  Budget budget(10 << 20);
  auto old = std::make_unique<std::string>(100 << 20, 'x');
  const WorkScope scope(&budget, nullptr);
  old.reset();
  EXPECT_THROW(std::string(11 << 20, 'x'), std::bad_alloc);
  EXPECT_NO_THROW(std::string(9 << 20, 'x'));
}

TEST_F(WorkScopeTest, WhoCatchesHasRoomForItsMessage) {
  Budget budget(0);
  const WorkScope scope(&budget, nullptr);
  std::vector<std::string> pieces;
  EXPECT_THROW(for (;;) pieces.emplace_back(100, 'x'), BudgetExceeded);
  EXPECT_NO_THROW(std::string(2000, 'x'));
  EXPECT_THROW(std::string(20'000, 'x'), BudgetExceeded);
}

// However small the pieces are.
TEST_F(WorkScopeTest, WhoCatchesAndGoesOnIsStoppedAgain) {
  Budget none(0);
  Flag flag;
  for (MemoryBudget* const budget : std::initializer_list<MemoryBudget*>{&none, nullptr}) {
    std::list<std::string> pieces;
    const auto take = [&] {
      for (int i = 0; i < 1'000'000; ++i) pieces.emplace_back(50, 'x');
    };
    const WorkScope scope(budget, &flag);
    if (budget == nullptr) {
      for (int i = 0; i < 10'000; ++i) pieces.emplace_back(50, 'x');
      flag.is_set = true;
    }
    EXPECT_ANY_THROW(take());
    EXPECT_NO_THROW(std::string(2000, 'x'));
    const size_t before = pieces.size();
    EXPECT_ANY_THROW(take());
    EXPECT_LT(pieces.size() - before, 5000);
    EXPECT_ANY_THROW(take());
    EXPECT_LT(pieces.size() - before, 5000);
  }
}

TEST_F(WorkScopeTest, SettlingBeginsAnew) {
  Budget budget(10 << 20);
  WorkScope scope(&budget, nullptr);
  const std::string first(6 << 20, 'x');
  scope.Settle();
  EXPECT_EQ(budget.charged, 0);
  const std::string second(6 << 20, 'x');
  EXPECT_GT(budget.charged, 0);
  EXPECT_THROW(std::string(6 << 20, 'x'), BudgetExceeded);
  scope.Settle();
  EXPECT_NO_THROW(std::string(6 << 20, 'x'));
}

TEST_F(WorkScopeTest, AnInnerScopeTakesThePlaceOfTheOuterOne) {
  Budget outer_budget(10 << 20), inner_budget(2 << 20);
  const WorkScope outer(&outer_budget, nullptr);
  {
    const WorkScope inner(&inner_budget, nullptr);
    EXPECT_THROW(std::string(3 << 20, 'x'), BudgetExceeded);
    EXPECT_EQ(outer_budget.charged, 0);
  }
  EXPECT_NO_THROW(std::string(3 << 20, 'x'));
  EXPECT_GT(outer_budget.charged, 0);
}

TEST_F(WorkScopeTest, APauseCountsAndThrowsNothing) {
  Budget budget(0);
  const WorkScope scope(&budget, nullptr);
  const WorkPause pause;
  EXPECT_NO_THROW(std::string(3 << 20, 'x'));
}

TEST_F(WorkScopeTest, OtherThreadsAreNotConcerned) {
  Budget budget(0);
  const WorkScope scope(&budget, nullptr);
  std::thread([] { EXPECT_NO_THROW(std::string(3 << 20, 'x')); }).join();
}

TEST_F(WorkScopeTest, WorkThatNobodyWantsStops) {
  Flag flag;
  std::list<std::string> pieces;
  const Status status = CatchAsStatus([&] {
    const WorkScope scope(nullptr, &flag);
    for (int i = 0; i < 1'000'000; ++i) {
      pieces.emplace_back(50, 'x');
      if (i == 100'000) flag.is_set = true;
    }
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(pieces.size(), 110'000);
}

}  // namespace
}  // namespace carillon
