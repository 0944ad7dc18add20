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

std::string SessionTensors::Keep(const std::string& node, Tensor value) {
  std::lock_guard lock(mutex_);
  std::string handle = StrCat(node, ";", next_++, ";", "/device:CPU:0");
  values_.emplace(handle, std::move(value));
  return handle;
}

StatusOr<Tensor> SessionTensors::Find(const std::string& handle) const {
  std::lock_guard lock(mutex_);
  const auto found = values_.find(handle);
  if (found == values_.end()) return Missing(handle);
  return found->second;
}

Status SessionTensors::Remove(const std::string& handle) {
  std::lock_guard lock(mutex_);
  return values_.erase(handle) > 0 ? absl::OkStatus() : Missing(handle);
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
