// MemoryCharge: what somebody keeps outside of tensors (entries of tables and queues, buffers of
// data sets), counted against an allocator's limit for as long as it is kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/work_scope.h"
#include "tensor/shared_allocator.h"

namespace carillon {

// Not thread-safe: lives under the lock of what it counts.
class MemoryCharge {
 public:
  // Counts nothing, and refuses nothing.
  MemoryCharge() = default;
  // Keeps the allocator working, also beyond the step and the session that it is from. Null: as
  // above.
  explicit MemoryCharge(Allocator* allocator)
      : allocator_(allocator == nullptr ? nullptr : KeepAllocator(allocator)) {}
  ~MemoryCharge() { Remove(bytes_); }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;

  // Before the memory is taken: ResourceExhausted, with nothing counted, when there is no room.
  Status Add(int64_t bytes) {
    if (allocator_ == nullptr || bytes == 0) return absl::OkStatus();
    if (!allocator_->Charge(bytes))
      return ResourceExhausted("no memory for ", bytes, " bytes besides tensors");
    bytes_ += bytes;
    return absl::OkStatus();
  }
  // Once it is given back. At most what was added.
  void Remove(int64_t bytes) {
    if (allocator_ == nullptr || bytes == 0) return;
    allocator_->Discharge(bytes);
    bytes_ -= bytes;
  }
  int64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Allocator> allocator_;
  int64_t bytes_ = 0;
};

// What malloc takes for each block besides what was asked for.
inline constexpr int64_t kBlockBytes = 16;
// A resource with nothing in it: the object, its place in a store, what a handle to it takes.
inline constexpr int64_t kResourceBytes = 2048;

// What `make` gives, a StatusOr<std::shared_ptr<T>>, and kResourceBytes and the name counted
// against the limit of `allocator` (null: none) as long as somebody has it. ResourceExhausted, with
// nothing made, when there is no room.
template <typename Make>
std::invoke_result_t<Make&> MakeOnAccount(Allocator* allocator, std::string_view name,
                                          Make&& make) {
  struct OnAccount {
    explicit OnAccount(Allocator* allocator) : charge(allocator) {}
    MemoryCharge charge;  // ends last
    typename std::invoke_result_t<Make&>::value_type resource;
  };
  auto on_account = std::make_shared<OnAccount>(allocator);
  // The name is in the store, in the resource and in handles.
  CARILLON_RETURN_IF_ERROR(
      on_account->charge.Add(kResourceBytes + 4 * static_cast<int64_t>(name.size())));
  CARILLON_ASSIGN_OR_RETURN(on_account->resource, make());
  auto* const resource = on_account->resource.get();
  return typename std::invoke_result_t<Make&>::value_type(std::move(on_account), resource);
}

// What a vector of so many elements takes.
template <typename T>
int64_t VectorBytes(size_t capacity) {
  return capacity == 0 ? 0 : static_cast<int64_t>(capacity * sizeof(T)) + kBlockBytes;
}

// Makes room in a vector for `size` elements, and for twice as many as before where that can be
// had; `charge` counts VectorBytes of its capacity. ResourceExhausted, with nothing changed, when
// there is no room.
template <typename T>
Status ReserveOnAccount(std::vector<T>& vector, size_t size, MemoryCharge& charge) {
  const size_t before = vector.capacity();
  if (size <= before) return absl::OkStatus();
  size_t room = std::max<size_t>({size, 2 * before, 4});
  if (!charge.Add(VectorBytes<T>(room)).ok()) {
    room = std::max(size, before + before / 8);  // in steps all the same: each moves all elements
    CARILLON_RETURN_IF_ERROR(charge.Add(VectorBytes<T>(room)));
  }
  const WorkPause pause;
  vector.reserve(room);
  charge.Remove(VectorBytes<T>(before));
  return absl::OkStatus();
}

}  // namespace carillon
