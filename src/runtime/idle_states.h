// What executors keep of steps that are over, so that the next ones allocate nothing: memory that
// others may have when there is too little.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/work_scope.h"

namespace carillon {

class IdleKeeper {
 public:
  // What is not needed, to be destroyed under no lock: values may be the last to hold a data set
  // with its functions, and their executors, or the allocator of a session that is over.
  using Idle = std::vector<std::shared_ptr<void>>;

  virtual ~IdleKeeper() = default;
  // Adds what is idle. Thread-safe; asks no allocator for anything.
  virtual void GiveUp(Idle* idle) = 0;
};

// All of it, of one device, or of a share of a device. Thread-safe.
//
// Locks are taken from the device's to the share's to a keeper's, and nothing is destroyed under
// any of them.
class IdleMemory final : public IdleKeeper {
 public:
  // `whole`: of the device that this is a share of; null for a device.
  explicit IdleMemory(std::shared_ptr<IdleMemory> whole = nullptr);
  ~IdleMemory() override;
  IdleMemory(const IdleMemory&) = delete;
  IdleMemory& operator=(const IdleMemory&) = delete;

  void Add(IdleKeeper* keeper);
  void Remove(IdleKeeper* keeper);  // waits while it is asked
  void GiveUp(Idle* idle) override;
  // Lets go of it all. To be called by an allocator that has no room, under no lock of its own.
  void Release();

 private:
  const std::shared_ptr<IdleMemory> whole_;
  std::mutex mutex_;
  std::unordered_set<IdleKeeper*> keepers_;  // under mutex_
};

// Those of one executor. Thread-safe. A state may outlive the executor, if only to be destroyed.
template <typename State>
class IdleStates final : public IdleKeeper {
 public:
  // `memory` may be null, and outlives this.
  explicit IdleStates(IdleMemory* memory) : memory_(memory) {
    if (memory_ != nullptr) memory_->Add(this);
  }
  ~IdleStates() override {
    if (memory_ != nullptr) memory_->Remove(this);
  }
  IdleStates(const IdleStates&) = delete;
  IdleStates& operator=(const IdleStates&) = delete;

  // The one that was returned last; null when there is none.
  std::unique_ptr<State> Take() {
    std::lock_guard lock(mutex_);
    if (states_.empty()) return nullptr;
    std::unique_ptr<State> state = std::move(states_.back());
    states_.pop_back();
    return state;
  }
  void Return(std::unique_ptr<State> state) {
    const WorkPause pause;  // a budget that has no room comes back to this
    std::lock_guard lock(mutex_);
    states_.push_back(std::move(state));
  }
  void GiveUp(Idle* idle) override {
    std::lock_guard lock(mutex_);
    for (std::unique_ptr<State>& state : states_)
      idle->push_back(std::shared_ptr<State>(std::move(state)));
    states_.clear();
  }

 private:
  IdleMemory* const memory_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<State>> states_;  // under mutex_
};

}  // namespace carillon
