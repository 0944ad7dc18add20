// Kernels of ops that stand for a resource: queues, accumulators, tables, …
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/status.h"
#include "kernels/kernel.h"
#include "tensor/memory_charge.h"

namespace carillon {

// Under which name the resource of a node is found, and by whom, from the attributes `container`
// and `shared_name`. With a shared name, or when `share_node_name`, all sessions share it and it
// outlives them. Without, it is the session's own, under the node's name, as in TensorFlow.
struct ResourcePlace {
  ResourceStore* session_state = nullptr;  // null: shared by sessions
  std::string container;
  std::string name;

  static ResourcePlace Of(const KernelRequest& request, bool share_node_name = false) {
    const auto& shared_name = request.attr<std::string>("shared_name");
    const auto& container = request.attr<std::string>("container");
    if (!shared_name.empty()) return {nullptr, container, shared_name};
    if (share_node_name || request.session_state == nullptr)
      return {nullptr, container, request.node.name()};
    return {request.session_state, "resource", request.node.name()};
  }
  ResourceStore& store(const StepServices& services) const {
    return session_state != nullptr ? *session_state : *services.resources;
  }
};

// Output 0 is a handle to the resource, which is made when there is none. Subclasses say how, and
// whether one that is there already is what the node asks for.
template <typename T>
class NamedResourceKernel : public Kernel {
 public:
  explicit NamedResourceKernel(ResourcePlace place) : place_(std::move(place)) {}

  Status Run(KernelContext& context) final {
    ResourceStore& store = place_.store(context.services());
    std::lock_guard lock(mutex_);
    const uint64_t generation = store.generation();
    if (!handle_.has_value() || &store != store_ || generation != generation_) {
      CARILLON_ASSIGN_OR_RETURN(
          std::shared_ptr<T> resource,
          FindOrMakeResource<T>(store, place_.container, place_.name,
                                [&]() -> StatusOr<std::shared_ptr<Resource>> {
                                  return MakeOnAccount(context.services().allocator, place_.name,
                                                       [&] { return Create(context); });
                                }));
      CARILLON_RETURN_IF_ERROR(Check(*resource));
      handle_ = Tensor::Scalar(ResourceHandle{std::move(resource), place_.container, place_.name});
      store_ = &store;
      generation_ = generation;
    }
    context.set_output(0, handle_);
    return absl::OkStatus();
  }

 protected:
  virtual StatusOr<std::shared_ptr<T>> Create(KernelContext& context) const = 0;
  virtual Status Check(const T& existing) const = 0;
  const ResourcePlace& place() const { return place_; }

 private:
  const ResourcePlace place_;
  std::mutex mutex_;  // guards all below
  Tensor handle_;
  const ResourceStore* store_ = nullptr;
  uint64_t generation_ = 0;  // of the store when handle_ was looked up
};

}  // namespace carillon
