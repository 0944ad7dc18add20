#include "kernels/tensor_list.h"

#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "kernels/named_resource.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {

TensorList::TensorList(const TensorList& other)
    : VariantValue(other),
      dtype_(other.dtype_),
      element_shape_(other.element_shape_),
      max_size_(other.max_size_),
      elements_(other.elements_) {
  if (elements_ != nullptr) elements_->references.fetch_add(1, std::memory_order_relaxed);
}

TensorList::TensorList(TensorList&& other) noexcept
    : dtype_(other.dtype_),
      element_shape_(other.element_shape_),
      max_size_(other.max_size_),
      elements_(std::exchange(other.elements_, nullptr)) {}

TensorList& TensorList::operator=(TensorList other) noexcept {
  dtype_ = other.dtype_;
  element_shape_ = other.element_shape_;
  max_size_ = other.max_size_;
  std::swap(elements_, other.elements_);
  return *this;
}

TensorList::~TensorList() { Unref(); }

void TensorList::Unref() {
  if (elements_ != nullptr && elements_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete elements_;
}

const std::vector<Tensor>& TensorList::elements() const {
  static const std::vector<Tensor> none;
  return elements_ == nullptr ? none : elements_->tensors;
}

StatusOr<std::vector<Tensor>*> TensorList::MutableElements(Allocator* allocator, int64_t more) {
  const size_t room = elements().size() + static_cast<size_t>(more);
  if (elements_ == nullptr || elements_->references.load(std::memory_order_acquire) > 1) {
    auto own = std::make_unique<Elements>(allocator);
    CARILLON_RETURN_IF_ERROR(own->charge.Add(sizeof(Elements) + kBlockBytes));
    CARILLON_RETURN_IF_ERROR(ReserveOnAccount(own->tensors, room, own->charge));
    own->tensors.assign(elements().begin(), elements().end());
    Unref();
    elements_ = own.release();
  } else {
    CARILLON_RETURN_IF_ERROR(ReserveOnAccount(elements_->tensors, room, elements_->charge));
  }
  return &elements_->tensors;
}

Status TensorList::Resize(int64_t size, Allocator* allocator) {
  if (size < 0) return InvalidArgument("a list cannot have ", size, " elements");
  if (max_size_ >= 0 && size > max_size_) {
    return InvalidArgument("a list of at most ", max_size_, " elements cannot have ", size);
  }
  if (size > kMaxSize) {
    return ResourceExhausted("a list of ", size, " elements is too long: ", kMaxSize,
                             " are allowed");
  }
  CARILLON_ASSIGN_OR_RETURN(std::vector<Tensor>* const tensors,
                            MutableElements(allocator, std::max<int64_t>(0, size - this->size())));
  tensors->resize(static_cast<size_t>(size));
  return absl::OkStatus();
}

StatusOr<Tensor> TensorList::Read(int64_t i, const PartialShape& shape,
                                  Allocator* allocator) const {
  const Tensor& element = (*this)[i];
  if (element.has_value()) return element;
  Shape known;
  if (!shape.AsShape(&known)) {
    return InvalidArgument(
        "Trying to read an uninitialized tensor but element_shape is not fully "
        "defined: ",
        shape.ToString());
  }
  Tensor zeros = Tensor::TryAllocate(dtype_, known, allocator);
  if (!zeros.has_value()) {
    return ResourceExhausted("no memory for an element of shape ", known.ToString());
  }
  ZeroElements(dtype_, zeros.mutable_raw_data(), known.num_elements());
  return zeros;
}

StatusOr<PartialShape> TensorList::MergeElementShapes(PartialShape shape) const {
  for (const Tensor& element : elements()) {
    if (element.has_value() && !shape.MergeWith(element.shape(), &shape)) {
      return InvalidArgument("elements of the list differ in shape: ", shape.ToString(), " and ",
                             element.shape().ToString());
    }
  }
  return shape;
}

std::string TensorList::DebugString() const {
  return StrCat("list of ", size(), " ", DTypeName(dtype_), " tensors");
}

StatusOr<const TensorList*> ListIn(const Variant& variant) {
  const auto* list = dynamic_cast<const TensorList*>(variant.value.get());
  if (list == nullptr) {
    return InvalidArgument("a list is needed, not ",
                           variant.value == nullptr ? "nothing" : variant.value->DebugString());
  }
  return list;
}

StatusOr<const TensorList*> ListInput(const KernelContext& context, int i, DType dtype) {
  const Tensor& handle = context.input(i);
  if (handle.dtype() != DType::kVariant || handle.num_elements() != 1) {
    return InvalidArgument("input ", i, " should be one list but is ", handle.ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListIn(handle.data<Variant>()[0]));
  if (dtype != DType::kInvalid && list->dtype() != dtype) {
    return InvalidArgument("Invalid data types; op elements ", DTypeName(dtype),
                           " but list elements ", DTypeName(list->dtype()));
  }
  return list;
}

StatusOr<TensorList> TakeList(KernelContext& context, int i, DType dtype) {
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListInput(context, i, dtype));
  TensorList copy = *list;
  context.Take(i);  // and lets go of it
  return copy;
}

StatusOr<Variant> ValueOf(TensorList list, Allocator* allocator) {
  struct Value {
    Value(TensorList list, Allocator* allocator) : charge(allocator), list(std::move(list)) {}
    MemoryCharge charge;
    const TensorList list;
  };
  auto value = std::make_shared<Value>(std::move(list), allocator);
  constexpr int64_t kReferences = 16;
  CARILLON_RETURN_IF_ERROR(value->charge.Add(sizeof(Value) + kReferences + kBlockBytes));
  const TensorList* const kept = &value->list;
  return Variant{std::shared_ptr<const TensorList>(std::move(value), kept)};
}

StatusOr<Tensor> VariantOf(TensorList list, Allocator* allocator) {
  CARILLON_ASSIGN_OR_RETURN(Variant value, ValueOf(std::move(list), allocator));
  Tensor scalar = Tensor::TryAllocate(DType::kVariant, Shape{}, allocator);
  if (!scalar.has_value()) return ResourceExhausted("no memory for a list");
  scalar.mutable_data<Variant>()[0] = std::move(value);
  return scalar;
}

StatusOr<PartialShape> ElementShapeFrom(const Tensor& sizes) {
  if (sizes.rank() > 1) {
    return InvalidArgument("Shape must be at most rank 1 but is rank ", sizes.rank());
  }
  if (sizes.num_elements() > kMaxRank) {
    return InvalidArgument("an element cannot have ", sizes.num_elements(),
                           " dimensions: ", kMaxRank, " are allowed");
  }
  const Ints dims = ReadInts(sizes);
  if (sizes.rank() == 0) {
    if (dims[0] == -1) return PartialShape();
    return InvalidArgument(
        "The only valid scalar shape tensor is the fully unknown shape specified as -1.");
  }
  for (const int64_t size : dims) {
    if (size < -1) return InvalidArgument("Dimension ", size, " must be >= -1");
  }
  PartialShape shape;
  if (!PartialShape::TryMake(dims, &shape)) return InvalidArgument("element_shape is no shape");
  return shape;
}

}  // namespace carillon
