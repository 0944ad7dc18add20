// TensorArray: the resource behind TensorArrayV3.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"
#include "tensor/memory_charge.h"
#include "tensor/object.h"

namespace carillon {

struct TensorArrayOptions {
  std::string name;  // for messages
  DType dtype = DType::kInvalid;
  PartialShape element_shape;
  bool dynamic_size = false;
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  bool accumulates = false;  // of gradients: an element written twice holds the sum
};

// Tensors that are each written once and, when clear_after_read, read once; an array of gradients
// adds up what is written to the same place. Lives in the handles to it, so it goes with the step
// that made it. Thread-safe.
//
// Invariants, under mutex_: an element that was read is never written again; one that was cleared
// holds nothing; when identical_element_shapes, every element fits element_shape_.
class TensorArray final : public Resource {
 public:
  static constexpr int64_t kMaxSize = 1 << 22;

  // InvalidArgument for a negative size, ResourceExhausted for one above kMaxSize, or for which
  // there is no memory: what the array takes besides the tensors in it counts against the limit of
  // `allocator` (null: does not).
  static StatusOr<std::shared_ptr<TensorArray>> Make(TensorArrayOptions options, int64_t size,
                                                     Allocator* allocator = nullptr);

  DType dtype() const { return options_.dtype; }
  const std::string& name() const { return options_.name; }
  StatusOr<int64_t> Size() const;
  bool dynamic_size() const;

  // `value` is no step memory.
  Status Write(int64_t index, Tensor value, Allocator* allocator);
  // An element that was never written is zeros where its shape is known.
  StatusOr<Tensor> Read(int64_t index, Allocator* allocator);
  // From then on elements must fit this shape too.
  Status MergeElementShape(const PartialShape& shape);
  // As many places as `size`, when there may be more.
  Status Grow(int64_t size);
  // Lets go of the elements; whatever comes afterwards is InvalidArgument.
  void Close();

  // The array of gradients for `source`, one call of Gradients: made when it is first asked for,
  // with a place for each element and zeros of its shape, before which go the sizes of `prepended`.
  // From then on this array does not grow. `allocator` as for Make.
  StatusOr<std::shared_ptr<TensorArray>> Gradients(const std::string& source,
                                                   std::span<const int64_t> prepended,
                                                   Allocator* allocator = nullptr);

  std::string DebugString() const override;

 private:
  struct Element {
    Tensor value;
    PartialShape shape;  // once it is known
    bool written = false, read = false, cleared = false;
  };

  TensorArray(TensorArrayOptions options, Allocator* allocator)
      : options_(std::move(options)), charge_(allocator) {}
  Status CheckOpen() const;
  Status GrowLocked(int64_t size);

  const TensorArrayOptions options_;
  mutable std::mutex mutex_;
  PartialShape element_shape_;
  bool dynamic_size_ = false;
  bool closed_ = false;
  MemoryCharge charge_;
  std::vector<Element> elements_;
  std::map<std::string, std::shared_ptr<TensorArray>> gradients_;
};

}  // namespace carillon
