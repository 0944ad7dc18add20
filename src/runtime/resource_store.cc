#include "runtime/resource_store.h"

#include "base/work_scope.h"

namespace carillon {

std::shared_ptr<Resource> MapResourceStore::Find(const std::string& container,
                                                 const std::string& name) {
  std::lock_guard lock(mutex_);
  const auto found = resources_.find({container, name});
  return found == resources_.end() ? nullptr : found->second;
}

StatusOr<std::shared_ptr<Resource>> MapResourceStore::FindOrMake(
    const std::string& container, const std::string& name,
    absl::FunctionRef<StatusOr<std::shared_ptr<Resource>>()> make) {
  if (auto found = Find(container, name)) return found;
  std::lock_guard making(making_);
  if (auto found = Find(container, name)) return found;
  CARILLON_ASSIGN_OR_RETURN(std::shared_ptr<Resource> made, make());
  const WorkPause pause;  // who makes resources counts what the entry takes, too
  std::lock_guard lock(mutex_);
  return resources_.emplace(std::pair(container, name), std::move(made)).first->second;
}

Status MapResourceStore::Remove(const std::string& container, const std::string& name) {
  const WorkPause pause;              // what ends with it may need memory
  std::shared_ptr<Resource> removed;  // destroyed after the lock is gone
  std::lock_guard lock(mutex_);
  const auto found = resources_.find({container, name});
  if (found == resources_.end())
    return NotFound("there is no resource '", name, "' in container '", container, "'");
  removed = std::move(found->second);
  resources_.erase(found);
  generation_.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

void MapResourceStore::Clear(const std::string& container) {
  const WorkPause pause;
  decltype(resources_) removed;
  std::lock_guard lock(mutex_);
  for (auto entry = resources_.begin(); entry != resources_.end();) {
    const auto next = std::next(entry);
    if (entry->first.first == container) removed.insert(resources_.extract(entry));
    entry = next;
  }
  generation_.fetch_add(1, std::memory_order_release);
}

bool MapResourceStore::empty() const {
  std::lock_guard lock(mutex_);
  return resources_.empty();
}

void MapResourceStore::ClearAll() {
  const WorkPause pause;
  decltype(resources_) removed;
  std::lock_guard lock(mutex_);
  removed.swap(resources_);
  generation_.fetch_add(1, std::memory_order_release);
}

}  // namespace carillon
