// Tensors that a session keeps between steps, under handles that the program holds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "carillon/tensor.h"
#include "kernels/services.h"
#include "tensor/memory_charge.h"
#include "tensor/object.h"

namespace carillon {

// Thread-safe. One for each session. What is kept stays until it is removed.
class SessionTensors final : public Resource {
 public:
  // The container of resource handles whose names are handles of kept tensors, as clients know it.
  static constexpr const char kContainer[] = "TensorHandle";

  // That of a session, made when there is none.
  static StatusOr<std::shared_ptr<SessionTensors>> Of(ResourceStore& session_state);

  // The handle: unique in the session, with the node in it, for messages, and a device, which
  // TensorFlow's client takes out of it for the ops that it makes to read the tensor. The entry
  // counts against the limit of `allocator`: ResourceExhausted when there is no room for it.
  StatusOr<std::string> Keep(const std::string& node, Tensor value, Allocator* allocator);
  // InvalidArgument when there is none.
  StatusOr<Tensor> Find(const std::string& handle) const;
  Status Remove(const std::string& handle);
  // The tensor that a resource handle stands for.
  StatusOr<Tensor> Resolve(const Tensor& resource_handle) const;

  std::string DebugString() const override { return "session tensors"; }

 private:
  struct Kept {
    explicit Kept(Allocator* allocator) : charge(allocator) {}
    MemoryCharge charge;
    Tensor value;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Kept> values_;
  int64_t next_ = 0;
};

}  // namespace carillon
