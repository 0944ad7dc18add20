// ThreadBudget: threads that clients can have a process start, by the hundreds and with a line of
// text each. The machine has only so many for everybody.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>

namespace carillon {

// Thread-safe.
class ThreadBudget {
 public:
  explicit ThreadBudget(int most) : most_(most) {}

  // For work ahead of data sets, of all in the process.
  static ThreadBudget& OfDataSets() {
    static ThreadBudget budget(2000);
    return budget;
  }

  // As many as wanted while there are plenty, one while there are some, else none.
  int Take(int wanted) {
    int taken = taken_.load();
    for (;;) {
      const int left = most_ - taken;
      const int given = wanted <= left / 2 ? wanted : std::min(left, 1);
      if (taken_.compare_exchange_weak(taken, taken + given)) return given;
    }
  }
  void Return(int threads) { taken_ -= threads; }

 private:
  const int most_;
  std::atomic<int> taken_{0};
};

// Threads of a budget, until it goes.
class BudgetedThreads {
 public:
  BudgetedThreads() = default;
  BudgetedThreads(ThreadBudget* budget, int wanted)
      : budget_(budget), count_(budget->Take(wanted)) {}
  ~BudgetedThreads() {
    if (budget_ != nullptr) budget_->Return(count_);
  }
  BudgetedThreads(BudgetedThreads&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  BudgetedThreads& operator=(BudgetedThreads other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(count_, other.count_);
    return *this;
  }
  int count() const { return count_; }

 private:
  ThreadBudget* budget_ = nullptr;
  int count_ = 0;
};

}  // namespace carillon
