#include "kernels/session_tensors.h"

#include "base/strings.h"

namespace carillon {
namespace {

Status Missing(const std::string& handle) {
  return InvalidArgument("The tensor with handle '", handle, "' is not in the session store.");
}

}  // namespace

StatusOr<std::shared_ptr<SessionTensors>> SessionTensors::Of(ResourceStore& session_state) {
  return FindOrMakeResource<SessionTensors>(
      session_state, "session", "tensors",
      []() -> StatusOr<std::shared_ptr<Resource>> { return std::make_shared<SessionTensors>(); });
}

StatusOr<std::string> SessionTensors::Keep(const std::string& node, Tensor value,
                                           Allocator* allocator) {
  std::lock_guard lock(mutex_);
  std::string handle = StrCat(node, ";", next_++, ";", "/device:CPU:0");
  const WorkPause pause;
  const auto [entry, is_new] = values_.try_emplace(handle, allocator);
  // The node of the map and the text of its key, and the handle that the program holds.
  constexpr int64_t kNode = 32 + sizeof(*entry) + kBlockBytes, kHandle = 256;
  const int64_t text = static_cast<int64_t>(handle.size()) + kBlockBytes;
  const Status status = entry->second.charge.Add(kNode + 2 * text + kHandle);
  if (!status.ok()) {
    values_.erase(entry);
    return status;
  }
  entry->second.value = std::move(value);
  return handle;
}

StatusOr<Tensor> SessionTensors::Find(const std::string& handle) const {
  std::lock_guard lock(mutex_);
  const auto found = values_.find(handle);
  if (found == values_.end()) return Missing(handle);
  return found->second.value;
}

Status SessionTensors::Remove(const std::string& handle) {
  decltype(values_)::node_type removed;  // ends after the lock
  std::lock_guard lock(mutex_);
  removed = values_.extract(handle);
  return removed.empty() ? Missing(handle) : absl::OkStatus();
}

StatusOr<Tensor> SessionTensors::Resolve(const Tensor& resource_handle) const {
  const auto& handle = resource_handle.scalar<ResourceHandle>();
  if (handle.container != kContainer) {
    return InvalidArgument("a handle of the resource ", handle.container, "/", handle.name,
                           " is fed, but only those of tensors that the session keeps can be");
  }
  return Find(handle.name);
}

}  // namespace carillon
