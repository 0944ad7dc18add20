// Kernels that repeat elements: tiles and broadcasts.
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

// Strings are repeated with all that they hold.
Status CheckRoomForRepeats(const KernelContext& context, const Tensor& input, const Shape& shape) {
  if (input.dtype() != DType::kString || input.num_elements() == 0) return absl::OkStatus();
  return CheckRoomOutside(context.services().allocator, shape.num_elements() / input.num_elements(),
                          TextBytes(input));
}

Status RunTile(KernelContext& context) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Ints multiples,
                            ReadVector(context.input(1), input.rank(), "multiples"));
  Ints sizes;
  for (size_t i = 0; i < multiples.size(); ++i) {
    int64_t size = 0;
    if (multiples[i] < 0) {
      return InvalidArgument("multiples[", i, "] should not be negative but is ", multiples[i]);
    }
    if (__builtin_mul_overflow(input.dim(static_cast<int>(i)), multiples[i], &size)) {
      return InvalidArgument("multiples[", i, "] = ", multiples[i], " makes the result too large");
    }
    sizes.push_back(size);
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(sizes));
  CARILLON_RETURN_IF_ERROR(CheckRoomForRepeats(context, input, shape));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const Strides from = RowMajorStrides(input.shape());
  const Strides to = RowMajorStrides(shape);
  CopyDims dims;
  for (size_t i = 0; i < multiples.size(); ++i) {
    const int64_t size = input.dim(static_cast<int>(i));
    dims.push_back({multiples[i], 0, size * to[i]});
    dims.push_back({size, from[i], to[i]});
  }
  CopyStrided(input.dtype(), input.raw_data(), output->mutable_raw_data(), std::move(dims));
  return absl::OkStatus();
}

Status RunBroadcastTo(KernelContext& context) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(1), "shape"));
  const int added = shape.rank() - input.rank();
  bool fits = added >= 0;
  for (int i = 0; fits && i < input.rank(); ++i) {
    fits = input.dim(i) == 1 || input.dim(i) == shape.dim(i + added);
  }
  if (!fits) {
    return InvalidArgument("a tensor of shape ", input.shape().ToString(),
                           " cannot be broadcast to ", shape.ToString());
  }
  CARILLON_RETURN_IF_ERROR(CheckRoomForRepeats(context, input, shape));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const Strides from = RowMajorStrides(input.shape());
  const Strides to = RowMajorStrides(shape);
  CopyDims dims;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool repeats = i < added || input.dim(i - added) == 1;
    dims.push_back({shape.dim(i), repeats ? 0 : from[static_cast<size_t>(i - added)],
                    to[static_cast<size_t>(i)]});
  }
  CopyStrided(input.dtype(), input.raw_data(), output->mutable_raw_data(), std::move(dims));
  return absl::OkStatus();
}

}  // namespace

void AddArrayRepeatKernels(KernelTable& table) {
  table.Add({
      {"Tile", "ref", FromFunction<RunTile>},
      {"BroadcastTo", "ref", FromFunction<RunBroadcastTo>},
  });
}

}  // namespace carillon
