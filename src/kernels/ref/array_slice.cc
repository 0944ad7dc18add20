// Kernels that take a part of a tensor, and that write into a part of one.
#include <algorithm>

#include "graph/ops/array_rules.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/state_kernels.h"

namespace carillon {
namespace {

Status RunSlice(KernelContext& context) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Ints begin, ReadVector(context.input(1), input.rank(), "begin"));
  CARILLON_ASSIGN_OR_RETURN(Ints size, ReadVector(context.input(2), input.rank(), "size"));
  for (size_t i = 0; i < begin.size(); ++i) {
    const int64_t whole = input.dim(static_cast<int>(i));
    if (begin[i] < 0 || begin[i] > whole) {
      return InvalidArgument("begin[", i, "] should be in [0, ", whole, "] but is ", begin[i]);
    }
    if (size[i] == -1) size[i] = whole - begin[i];
    if (size[i] < 0 || size[i] > whole - begin[i]) {
      return InvalidArgument("size[", i, "] should be in [0, ", whole - begin[i], "] but is ",
                             size[i]);
    }
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(size));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const Strides from = RowMajorStrides(input.shape());
  const Strides to = RowMajorStrides(shape);
  int64_t offset = 0;
  CopyDims dims;
  for (size_t i = 0; i < size.size(); ++i) {
    offset += begin[i] * from[i];
    dims.push_back({size[i], from[i], to[i]});
  }
  CopyStrided(input.dtype(), At(input, offset), output->mutable_raw_data(), std::move(dims));
  return absl::OkStatus();
}

// Indices as PlanStridedSlice wants them: its mark for the unknown means the same to a slice as
// the next greater integer.
StatusOr<Ints> ReadIndices(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() != 1) {
    return InvalidArgument(what, " should be a vector but has shape ", tensor.shape().ToString());
  }
  if (tensor.num_elements() > 32) {
    return InvalidArgument(what, " has ", tensor.num_elements(),
                           " elements; a slice has at most 32 indices");
  }
  Ints indices = ReadInts(tensor);
  for (int64_t& index : indices) index = std::max(index, kUnknownIndex + 1);
  return indices;
}

// A strided slice of a tensor whose shape is known: the plan, the result's shape, and where it
// lies.
struct KnownSlice {
  StridedSlicePlan plan;
  Shape result;
  int64_t offset = 0;                              // of the first element
  absl::InlinedVector<int64_t, kMaxRank> strides;  // of each dimension of the plan, in elements
};

// begin, end and strides are inputs `first` to `first` + 2.
StatusOr<KnownSlice> ResolveSlice(KernelContext& context, int first, const Shape& input,
                                  const StridedSliceMasks& masks) {
  CARILLON_ASSIGN_OR_RETURN(const Ints begin, ReadIndices(context.input(first), "begin"));
  CARILLON_ASSIGN_OR_RETURN(const Ints end, ReadIndices(context.input(first + 1), "end"));
  CARILLON_ASSIGN_OR_RETURN(const Ints strides, ReadIndices(context.input(first + 2), "strides"));
  KnownSlice slice;
  CARILLON_ASSIGN_OR_RETURN(slice.plan, PlanStridedSlice(input, begin, end, strides, masks));
  CARILLON_ASSIGN_OR_RETURN(slice.result, MakeShape(slice.plan.result.dims()));
  if (slice.result.num_elements() == 0) return slice;
  const Strides row_major = RowMajorStrides(input);
  for (size_t i = 0; i < slice.plan.dims.size(); ++i) {
    const SlicedDim& dim = slice.plan.dims[i];
    slice.offset += dim.begin * row_major[i];
    // A stride that takes one element may be anything: it is never multiplied.
    slice.strides.push_back(dim.size > 1 ? dim.stride * row_major[i] : 0);
  }
  return slice;
}

class StridedSliceKernel final : public Kernel {
 public:
  explicit StridedSliceKernel(const KernelRequest& request) : masks_(request.node) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const KnownSlice slice,
                              ResolveSlice(context, 1, input.shape(), masks_));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, slice.result));
    if (slice.result.num_elements() == 0) return absl::OkStatus();
    const Strides to = RowMajorStrides(slice.result);
    CopyDims dims;
    for (size_t i = 0; i < slice.plan.dims.size(); ++i) {
      const SlicedDim& dim = slice.plan.dims[i];
      if (dim.result_dim < 0) continue;
      dims.push_back({dim.size, slice.strides[i], to[static_cast<size_t>(dim.result_dim)]});
    }
    CopyStrided(input.dtype(), At(input, slice.offset), output->mutable_raw_data(),
                std::move(dims));
    return absl::OkStatus();
  }

 private:
  const StridedSliceMasks masks_;
};

// Writes `value`, broadcast to the slice, over the part of `target` that the slice takes.
Status AssignSlice(const KnownSlice& slice, const Tensor& value, Tensor& target) {
  const Shape& result = slice.result;
  const int extra = value.rank() - result.rank();
  bool fits = true;
  Strides from(static_cast<size_t>(result.rank()), 0);
  const Strides value_strides = RowMajorStrides(value.shape());
  for (int i = 0; i < value.rank(); ++i) {
    const int64_t size = value.dim(i);
    if (i < extra) {
      fits &= size == 1;
    } else if (size != 1) {
      fits &= size == result.dim(i - extra);
      from[static_cast<size_t>(i - extra)] = value_strides[static_cast<size_t>(i)];
    }
  }
  if (!fits) {
    return InvalidArgument("a value of shape ", value.shape().ToString(),
                           " cannot be broadcast to the slice's shape ", result.ToString());
  }
  if (result.num_elements() == 0) return absl::OkStatus();
  CopyDims dims;
  for (size_t i = 0; i < slice.plan.dims.size(); ++i) {
    const SlicedDim& dim = slice.plan.dims[i];
    if (dim.result_dim < 0) continue;
    dims.push_back({dim.size, from[static_cast<size_t>(dim.result_dim)], slice.strides[i]});
  }
  CopyStrided(value.dtype(), value.raw_data(), At(target, slice.offset), std::move(dims));
  return absl::OkStatus();
}

class StridedSliceGradKernel final : public Kernel {
 public:
  explicit StridedSliceGradKernel(const KernelRequest& request) : masks_(request.node) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
    CARILLON_ASSIGN_OR_RETURN(const KnownSlice slice, ResolveSlice(context, 1, shape, masks_));
    const Tensor& dy = context.input(4);
    if (dy.shape() != slice.result) {
      return InvalidArgument("dy should have the shape ", slice.result.ToString(),
                             " of the slice but has ", dy.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
    return AssignSlice(slice, dy, *output);
  }

 private:
  const StridedSliceMasks masks_;
};

class TensorStridedSliceUpdateKernel final : public Kernel {
 public:
  explicit TensorStridedSliceUpdateKernel(const KernelRequest& request) : masks_(request.node) {
    traits_.reuses.push_back({0, 0});
  }

  Status Run(KernelContext& context) override {
    const Shape shape = context.input(0).shape();
    CARILLON_ASSIGN_OR_RETURN(const KnownSlice slice, ResolveSlice(context, 1, shape, masks_));
    const void* from = context.input(0).raw_data();
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape));
    if (output->raw_data() != from) {
      CopyElements(output->dtype(), from, output->mutable_raw_data(), shape.num_elements());
    }
    return AssignSlice(slice, context.input(4), *output);
  }

 private:
  const StridedSliceMasks masks_;
};

// StridedSliceAssign and ResourceStridedSliceAssign: input 0 leads to a variable.
class StridedSliceAssignKernel final : public Kernel {
 public:
  explicit StridedSliceAssignKernel(const KernelRequest& request) : masks_(request.node) {
    traits_ = UpdateTraits(request);
  }

  Status Run(KernelContext& context) override {
    const Tensor& value = context.input(4);
    CARILLON_ASSIGN_OR_RETURN(const auto variable, VariableInput(context, 0, value.dtype()));
    VariableLock lock({variable.get()});
    CARILLON_ASSIGN_OR_RETURN(const Tensor* now, lock.Readable(*variable));
    CARILLON_ASSIGN_OR_RETURN(const KnownSlice slice,
                              ResolveSlice(context, 1, now->shape(), masks_));
    CARILLON_ASSIGN_OR_RETURN(Tensor * target,
                              lock.Writable(*variable, context.services().allocator));
    PassReference(context);
    CARILLON_RETURN_IF_ERROR(AssignSlice(slice, value, *target));
    return lock.CountText();
  }

 private:
  const StridedSliceMasks masks_;
};

}  // namespace

void AddArraySliceKernels(KernelTable& table) {
  table.Add({
      {"Slice", "ref", FromFunction<RunSlice>},
      {"StridedSlice", "ref", FromClass<StridedSliceKernel>},
      {"StridedSliceGrad", "ref", FromClass<StridedSliceGradKernel>},
      {"StridedSliceAssign", "ref", FromClass<StridedSliceAssignKernel>},
      {"ResourceStridedSliceAssign", "ref", FromClass<StridedSliceAssignKernel>},
      {"TensorStridedSliceUpdate", "ref", FromClass<TensorStridedSliceUpdateKernel>},
  });
}

}  // namespace carillon
