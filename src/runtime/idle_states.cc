#include "runtime/idle_states.h"

namespace carillon {

IdleMemory::IdleMemory(std::shared_ptr<IdleMemory> whole) : whole_(std::move(whole)) {
  if (whole_ != nullptr) whole_->Add(this);
}

IdleMemory::~IdleMemory() {
  if (whole_ != nullptr) whole_->Remove(this);
}

void IdleMemory::Add(IdleKeeper* keeper) {
  const WorkPause pause;  // a budget that has no room comes back to this
  std::lock_guard lock(mutex_);
  keepers_.insert(keeper);
}

void IdleMemory::Remove(IdleKeeper* keeper) {
  std::lock_guard lock(mutex_);
  keepers_.erase(keeper);
}

void IdleMemory::GiveUp(Idle* idle) {
  std::lock_guard lock(mutex_);
  for (IdleKeeper* keeper : keepers_) keeper->GiveUp(idle);
}

void IdleMemory::Release() {
  const WorkPause pause;  // what goes was not taken by the work that needs room
  Idle idle;
  GiveUp(&idle);
}

}  // namespace carillon
