// WorkScope: on whose account a thread works. What a client has asked for may take memory from the
// C++ heap in many small pieces (strings, lists, trees, what libraries need), with no allocator
// that could say no. While a scope is open, operator new counts for its thread, charges a budget
// and throws when that has no room, or when nobody wants the work any more.
//
// It is replaced by heap_hooks.cc, which programs get with the library unless they replace it
// themselves; under sanitizers, and in such programs, scopes count nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace carillon {

// Memory with a limit. Thread-safe; takes nothing from the heap.
class MemoryBudget {
 public:
  virtual ~MemoryBudget() = default;
  // Counts memory from elsewhere. False, with nothing counted, when there is no room for it.
  virtual bool Charge(int64_t) { return true; }
  virtual void Discharge(int64_t) {}
};

// Tells that work is no longer wanted. Thread-safe.
class CancelFlag {
 public:
  virtual ~CancelFlag() = default;
  virtual bool IsCancelled() const = 0;
};

// Thrown by operator new: the budget has no room. Like any std::bad_alloc it is ResourceExhausted.
class BudgetExceeded final : public std::bad_alloc {
 public:
  const char* what() const noexcept override { return "the memory limit is reached"; }
};

// Thrown by operator new: nobody wants the work any more.
class WorkStopped final : public std::exception {
 public:
  const char* what() const noexcept override { return "the work was stopped"; }
};

// Of one thread, on its stack; an inner scope takes the place of the outer one while it is open.
//
// What the work leaves behind counts no longer when the scope ends or is settled: who keeps it
// counts it (ChargeText, MemoryCharge). What it frees may be older than the scope, so that the
// count is never below zero.
//
// Code that must not throw, or that holds what the budget needs, pauses the scope (WorkPause):
// destructors, and whoever changes what others see and has charged for it before.
class WorkScope {
 public:
  // Each may be null, and outlives the scope.
  WorkScope(MemoryBudget* budget, const CancelFlag* cancel);
  ~WorkScope();
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;

  // Between two pieces of work: begins to count anew.
  void Settle() {
    taken_ = 0;
    if (has_thrown_ || charged_ > 0) [[unlikely]]
      Release();
  }

  // Whether operator new counts at all in this program.
  static bool Counts();

 private:
  friend class WorkPause;
  friend void CountTaken(size_t bytes);
  friend void CountFreed(size_t bytes) noexcept;

  // So much is free in each scope: most work never asks its budget.
  static constexpr int64_t kFree = 64 << 10;

  void Grow(int64_t bytes);
  void Release();

  MemoryBudget* const budget_;
  const CancelFlag* const cancel_;
  WorkScope* const outer_;
  const CancelFlag* const outer_cancel_;
  int64_t taken_ = 0;
  int64_t charged_ = 0;      // to the budget, for what is above kFree
  bool has_thrown_ = false;  // from then on small pieces are let pass: whoever catches needs some
};

// Whether nobody wants the work any more that this thread does, in a scope or for a team (RunTeam)
// that was started in one. For loops that may take long: what they have computed so far is of no
// use then, and what others see must be left alone.
bool WorkIsCancelled();
// The same, for who passes it on to threads of its own.
const CancelFlag* CurrentCancelFlag();
void SetCurrentCancelFlag(const CancelFlag* cancel);

// While it lives, the thread's scope counts nothing and throws nothing.
class WorkPause {
 public:
  WorkPause();
  ~WorkPause();
  WorkPause(const WorkPause&) = delete;
  WorkPause& operator=(const WorkPause&) = delete;

 private:
  WorkScope* const paused_;
};

// For operator new and delete: this many bytes were taken by, or given back by, this thread.
// CountTaken throws BudgetExceeded or WorkStopped; then they do not count.
void CountTaken(size_t bytes);
void CountFreed(size_t bytes) noexcept;

}  // namespace carillon
