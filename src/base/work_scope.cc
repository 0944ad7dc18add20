#include "base/work_scope.h"

#include <algorithm>

namespace carillon {
namespace {

constinit thread_local WorkScope* current = nullptr;
constinit thread_local const CancelFlag* current_cancel = nullptr;

// Budgets are asked for this much at a time, where they have it …
constexpr int64_t kStep = 256 << 10;
// … and else for this much. After a throw pieces up to this size are let pass …
constexpr int64_t kSmall = 4 << 10;
// … until they come to so much: who catches and goes on is stopped again.
constexpr int64_t kAfterThrow = 256 << 10;

}  // namespace

WorkScope::WorkScope(MemoryBudget* budget, const CancelFlag* cancel)
    : budget_(budget), cancel_(cancel), outer_(current), outer_cancel_(current_cancel) {
  current = this;
  current_cancel = cancel;
}

WorkScope::~WorkScope() {
  Settle();
  current = outer_;
  current_cancel = outer_cancel_;
}

void WorkScope::Grow(int64_t bytes) {
  const int64_t missing = taken_ - kFree - charged_;
  if (has_thrown_ && bytes <= kSmall && missing <= kAfterThrow) return;
  if (cancel_ != nullptr && cancel_->IsCancelled()) {
    taken_ -= bytes;
    // With no budget all that was taken is missing: from here it counts what is let pass.
    if (budget_ == nullptr && !has_thrown_) taken_ = std::min(taken_, kFree);
    has_thrown_ = true;
    throw WorkStopped();
  }
  if (budget_ == nullptr) return;
  for (const int64_t more : {std::max(missing, kStep), std::max(missing, kSmall)}) {
    if (!budget_->Charge(more)) continue;
    charged_ += more;
    return;
  }
  taken_ -= bytes;
  has_thrown_ = true;
  throw BudgetExceeded();
}

void WorkScope::Release() {
  if (charged_ > 0) budget_->Discharge(charged_);
  charged_ = 0;
  has_thrown_ = false;
}

bool WorkScope::Counts() {
  WorkScope probe(nullptr, nullptr);
  void* const piece = ::operator new(1);
  const bool counts = probe.taken_ > 0;
  ::operator delete(piece);
  return counts;
}

bool WorkIsCancelled() { return current_cancel != nullptr && current_cancel->IsCancelled(); }
const CancelFlag* CurrentCancelFlag() { return current_cancel; }
void SetCurrentCancelFlag(const CancelFlag* cancel) { current_cancel = cancel; }

WorkPause::WorkPause() : paused_(current) { current = nullptr; }
WorkPause::~WorkPause() { current = paused_; }

void CountTaken(size_t bytes) {
  WorkScope* const scope = current;
  if (scope == nullptr) return;
  scope->taken_ += static_cast<int64_t>(bytes);
  if (scope->taken_ - WorkScope::kFree > scope->charged_) [[unlikely]]
    scope->Grow(static_cast<int64_t>(bytes));
}

void CountFreed(size_t bytes) noexcept {
  WorkScope* const scope = current;
  if (scope == nullptr) return;
  scope->taken_ = std::max<int64_t>(0, scope->taken_ - static_cast<int64_t>(bytes));
}

}  // namespace carillon
