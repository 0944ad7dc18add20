// The table of the array family's kernels, and what they share.
#include "kernels/families.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {

void AddArrayReferenceKernels(KernelTable& table) {
  AddArrayValueKernels(table);
  AddArrayShapeKernels(table);
  AddArrayFillKernels(table);
  AddArrayConcatKernels(table);
  AddArraySliceKernels(table);
  AddArrayPermuteKernels(table);
  AddArrayRepeatKernels(table);
  AddArrayPadKernels(table);
  AddArrayGatherKernels(table);
  AddArrayScatterKernels(table);
  AddArraySelectKernels(table);
  AddArrayUniqueKernels(table);
  AddArrayDynamicKernels(table);
  AddArrayCastKernels(table);
  AddArrayDiagonalKernels(table);
  AddArrayBandKernels(table);
  AddArraySpaceKernels(table);
  AddArraySetKernels(table);
}

Ints ReadInts(const Tensor& tensor) {
  Ints values(static_cast<size_t>(tensor.num_elements()));
  DispatchInteger(tensor.dtype(), [&]<typename T>() {
    const T* data = tensor.data<T>();
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(data[i]);
  });
  return values;
}

StatusOr<Ints> ReadVector(const Tensor& tensor, int64_t size, std::string_view what) {
  if (tensor.rank() != 1 || tensor.dim(0) != size) {
    return InvalidArgument(what, " should be a vector of ", size, " elements but has shape ",
                           tensor.shape().ToString());
  }
  return ReadInts(tensor);
}

StatusOr<int64_t> ReadOneInt(const Tensor& tensor, std::string_view what) {
  if (tensor.num_elements() != 1) {
    return InvalidArgument(what, " should be one value but has shape ", tensor.shape().ToString());
  }
  return ReadInts(tensor)[0];
}

StatusOr<int64_t> ReadScalarInt(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() != 0) {
    return InvalidArgument(what, " should be a scalar but has shape ", tensor.shape().ToString());
  }
  return ReadInts(tensor)[0];
}

StatusOr<Shape> ReadShape(const Tensor& sizes, std::string_view what, bool scalar_ok) {
  if (sizes.rank() != 1 && !(scalar_ok && sizes.rank() == 0)) {
    return InvalidArgument(what, " should be a vector of sizes but has shape ",
                           sizes.shape().ToString());
  }
  if (sizes.num_elements() > kMaxRank) {
    return InvalidArgument(what, " has ", sizes.num_elements(), " elements; tensors have at most ",
                           kMaxRank, " dimensions");
  }
  return MakeShape(ReadInts(sizes));
}

StatusOr<Shape> MakeShape(std::span<const int64_t> dims) {
  Shape shape;
  if (Shape::TryMake(dims, &shape)) return shape;
  for (const int64_t size : dims) {
    if (size < 0) return InvalidArgument("a dimension should not be negative but is ", size);
  }
  if (dims.size() > kMaxRank) {
    return InvalidArgument("a tensor of ", dims.size(), " dimensions is wanted; at most ", kMaxRank,
                           " are possible");
  }
  return InvalidArgument("a tensor is wanted that would have 2^63 elements or more");
}

Status IndexError(std::string_view what, const Shape& shape, int64_t position, int64_t value,
                  int64_t limit) {
  std::string place;
  for (int i = shape.rank(); i-- > 0;) {
    place = StrCat(position % shape.dim(i), place.empty() ? "" : ",", place);
    position /= shape.dim(i);
  }
  return InvalidArgument(what, shape.rank() == 0 ? "" : StrCat("[", place, "]"), " = ", value,
                         " is not in [0, ", limit, ")");
}

Status RunIdentity(KernelContext& context) {
  context.set_output(0, context.input(0));
  return absl::OkStatus();
}

}  // namespace carillon
