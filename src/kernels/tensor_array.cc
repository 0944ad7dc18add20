#include "kernels/tensor_array.h"

#include <utility>

#include "base/strings.h"
#include "kernels/named_resource.h"
#include "kernels/ref/accumulate.h"
#include "kernels/ref/array_copy.h"

namespace carillon {
namespace {

// `shape` with the sizes of `prepended` before it; unknown where it is.
StatusOr<PartialShape> Prepend(std::span<const int64_t> prepended, const PartialShape& shape) {
  if (!shape.has_rank()) return PartialShape();
  std::vector<int64_t> dims(prepended.begin(), prepended.end());
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  PartialShape result;
  if (!PartialShape::TryMake(dims, &result)) {
    return InvalidArgument("elements of shape ", shape.ToString(), " cannot have ",
                           prepended.size(), " more dimensions of these sizes");
  }
  return result;
}

}  // namespace

StatusOr<std::shared_ptr<TensorArray>> TensorArray::Make(TensorArrayOptions options, int64_t size,
                                                         Allocator* allocator) {
  if (size < 0) return InvalidArgument("Size should be >= 0.");
  std::shared_ptr<TensorArray> array(new TensorArray(std::move(options), allocator));
  CARILLON_RETURN_IF_ERROR(
      array->charge_.Add(kResourceBytes + 4 * static_cast<int64_t>(array->name().size())));
  array->element_shape_ = array->options_.element_shape;
  CARILLON_RETURN_IF_ERROR(array->GrowLocked(size));
  array->dynamic_size_ = array->options_.dynamic_size;
  return array;
}

Status TensorArray::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return InvalidArgument("TensorArray ", name(), " has already been closed.");
}

Status TensorArray::GrowLocked(int64_t size) {
  if (size > kMaxSize) {
    return ResourceExhausted("TensorArray ", name(), " of ", size,
                             " elements is too large: ", kMaxSize, " are allowed");
  }
  const auto places = static_cast<size_t>(size);
  if (places <= elements_.size()) return absl::OkStatus();
  CARILLON_RETURN_IF_ERROR(ReserveOnAccount(elements_, places, charge_));
  elements_.resize(places);
  return absl::OkStatus();
}

StatusOr<int64_t> TensorArray::Size() const {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(CheckOpen());
  return static_cast<int64_t>(elements_.size());
}

bool TensorArray::dynamic_size() const {
  std::lock_guard lock(mutex_);
  return dynamic_size_;
}

Status TensorArray::Grow(int64_t size) {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(CheckOpen());
  return dynamic_size_ ? GrowLocked(size) : absl::OkStatus();
}

Status TensorArray::Write(int64_t index, Tensor value, Allocator* allocator) {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(CheckOpen());
  if (value.dtype() != dtype()) {
    return InvalidArgument("TensorArray ", name(), " holds ", DTypeName(dtype()), ", not ",
                           DTypeName(value.dtype()));
  }
  const auto size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (index >= size && !dynamic_size_)) {
    return InvalidArgument("TensorArray ", name(), ": Tried to write to index ", index,
                           " but array is not resizeable and size is: ", size);
  }
  CARILLON_RETURN_IF_ERROR(GrowLocked(index + 1));
  Element& element = elements_[static_cast<size_t>(index)];
  const auto refuse = [&](const auto&... why) {
    return InvalidArgument("TensorArray ", name(), ": Could not write to TensorArray index ", index,
                           " because ", why...);
  };
  if (!element_shape_.IsCompatibleWith(value.shape())) {
    return refuse("the value shape is ", value.shape().ToString(),
                  " which is incompatible with the TensorArray's inferred element shape: ",
                  element_shape_.ToString(), " (consider setting infer_shape=False).");
  }
  if (element.read) return refuse("it has already been read.");
  if (element.written) {
    if (!options_.accumulates) return refuse("it has already been written to.");
    if (element.value.shape() != value.shape()) {
      return refuse("the existing shape is ", element.value.shape().ToString(),
                    " but the new input shape is ", value.shape().ToString(), ".");
    }
    return AddTo(element.value, value, allocator);
  }
  if (options_.identical_element_shapes) element_shape_ = value.shape();
  element.shape = value.shape();
  element.value = std::move(value);
  element.written = true;
  return absl::OkStatus();
}

StatusOr<Tensor> TensorArray::Read(int64_t index, Allocator* allocator) {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(CheckOpen());
  if (index < 0 || index >= static_cast<int64_t>(elements_.size())) {
    return InvalidArgument("Tried to read from index ", index,
                           " but array size is: ", elements_.size());
  }
  Element& element = elements_[static_cast<size_t>(index)];
  if (element.cleared) {
    return InvalidArgument("TensorArray ", name(), ": Could not read index ", index,
                           " twice because it was cleared after a previous read (perhaps try "
                           "setting clear_after_read = false?).");
  }
  if (!element.value.has_value()) {
    Shape shape;
    const PartialShape& known = element.shape.has_rank() ? element.shape : element_shape_;
    if (!known.AsShape(&shape)) {
      return InvalidArgument("TensorArray ", name(), ": Could not read from TensorArray index ",
                             index, ": it was not written, and the shape of an element (",
                             known.ToString(), ") is not known, so that it cannot be zeros.");
    }
    element.value = Tensor::TryAllocate(dtype(), shape, allocator);
    if (!element.value.has_value())
      return ResourceExhausted("no memory for an element of TensorArray ", name());
    ZeroElements(dtype(), element.value.mutable_raw_data(), shape.num_elements());
    element.shape = shape;
  }
  element.read = true;
  if (!options_.clear_after_read) return element.value;
  element.cleared = true;
  return std::exchange(element.value, Tensor());
}

Status TensorArray::MergeElementShape(const PartialShape& shape) {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(CheckOpen());
  if (element_shape_.MergeWith(shape, &element_shape_)) return absl::OkStatus();
  return InvalidArgument("TensorArray ", name(), ": elements of shape ", element_shape_.ToString(),
                         " are wanted as of shape ", shape.ToString());
}

void TensorArray::Close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  charge_.Remove(VectorBytes<Element>(elements_.capacity()));
  std::vector<Element>().swap(elements_);  // and their room
  gradients_.clear();
}

StatusOr<std::shared_ptr<TensorArray>> TensorArray::Gradients(const std::string& source,
                                                              std::span<const int64_t> prepended,
                                                              Allocator* allocator) {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(CheckOpen());
  if (options_.accumulates) {
    return InvalidArgument("TensorArray ", name(), " holds gradients: it has none of its own");
  }
  if (const auto found = gradients_.find(source); found != gradients_.end()) return found->second;
  TensorArrayOptions options = options_;
  options.name = StrCat(name(), "@", source);
  options.dynamic_size = false;
  options.clear_after_read = true;
  options.accumulates = true;
  CARILLON_ASSIGN_OR_RETURN(options.element_shape, Prepend(prepended, element_shape_));
  CARILLON_ASSIGN_OR_RETURN(
      std::shared_ptr<TensorArray> made,
      Make(std::move(options), static_cast<int64_t>(elements_.size()), allocator));
  for (size_t i = 0; i < elements_.size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(made->elements_[i].shape, Prepend(prepended, elements_[i].shape));
  }
  const WorkPause pause;  // the entry is counted with the array
  dynamic_size_ = false;
  return gradients_.emplace(source, std::move(made)).first->second;
}

std::string TensorArray::DebugString() const {
  return StrCat("TensorArray of ", DTypeName(dtype()));
}

}  // namespace carillon
