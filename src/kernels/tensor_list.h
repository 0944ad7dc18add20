// TensorList: the value behind the variants of the TensorList ops.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"
#include "kernels/context.h"
#include "tensor/memory_charge.h"
#include "tensor/object.h"

namespace carillon {

// A list of tensors, of which those that hold nothing are zeros. As a value it never changes: a
// kernel takes a copy, which shares the elements, changes that and makes it a value again. The
// elements are copied only when somebody else has them too, so that pushing onto a list whose last
// use this is takes constant time.
class TensorList final : public VariantValue {
 public:
  // Lists are not made longer than this by a number that comes from outside.
  static constexpr int64_t kMaxSize = 1 << 22;

  TensorList(DType dtype, PartialShape element_shape, int64_t max_size = -1)
      : dtype_(dtype), element_shape_(element_shape), max_size_(max_size) {}
  TensorList(const TensorList& other);
  TensorList(TensorList&& other) noexcept;
  TensorList& operator=(TensorList other) noexcept;
  ~TensorList() override;

  DType dtype() const { return dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  void set_element_shape(const PartialShape& shape) { element_shape_ = shape; }
  int64_t max_size() const { return max_size_; }  // negative: no limit
  int64_t size() const { return static_cast<int64_t>(elements().size()); }
  const std::vector<Tensor>& elements() const;
  const Tensor& operator[](int64_t i) const { return elements_->tensors[static_cast<size_t>(i)]; }
  // To change: the list's own, copied if they are not, with room for `more` than there are. They
  // count against the limit of `allocator`: ResourceExhausted, with nothing changed, when there is
  // no room for them.
  StatusOr<std::vector<Tensor>*> MutableElements(Allocator* allocator, int64_t more = 0);
  // InvalidArgument when it cannot be that long, ResourceExhausted above kMaxSize, too.
  Status Resize(int64_t size, Allocator* allocator);

  // Element i, zeros of `shape` where it holds nothing.
  StatusOr<Tensor> Read(int64_t i, const PartialShape& shape, Allocator* allocator) const;
  // `shape` and what the elements say of it. InvalidArgument when they contradict each other.
  StatusOr<PartialShape> MergeElementShapes(PartialShape shape) const;

  std::string DebugString() const override;

 private:
  struct Elements {
    explicit Elements(Allocator* allocator) : charge(allocator) {}
    std::atomic<int> references{1};
    MemoryCharge charge;  // of this and of the vector
    std::vector<Tensor> tensors;
  };
  void Unref();

  DType dtype_;
  PartialShape element_shape_;
  int64_t max_size_;
  Elements* elements_ = nullptr;  // one reference; null: none yet, or moved on
};

// The list in input i, of elements of `dtype` (kInvalid: any). InvalidArgument when there is none.
// Take: to be changed, so that the input's last use leaves the elements to the caller alone.
StatusOr<TensorList> TakeList(KernelContext& context, int i, DType dtype = DType::kInvalid);
StatusOr<const TensorList*> ListInput(const KernelContext& context, int i,
                                      DType dtype = DType::kInvalid);
// The list that an element of a variant tensor is.
StatusOr<const TensorList*> ListIn(const Variant& variant);
// The list as a value, which counts against the limit of `allocator` as long as somebody has it:
// ResourceExhausted when there is no room.
StatusOr<Variant> ValueOf(TensorList list, Allocator* allocator);
// The same as a scalar.
StatusOr<Tensor> VariantOf(TensorList list, Allocator* allocator);

// The shape of an element as a tensor of sizes says it: -1 alone is an unknown shape.
StatusOr<PartialShape> ElementShapeFrom(const Tensor& sizes);

}  // namespace carillon
