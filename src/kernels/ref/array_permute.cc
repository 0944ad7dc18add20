// Kernels that bring elements into another order: transposes, reversals, rolls.
#include <algorithm>

#include "graph/shape_context.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// A permutation of [0, rank), negative entries counted from the end.
StatusOr<Ints> ReadPermutation(const Tensor& tensor, int rank) {
  CARILLON_ASSIGN_OR_RETURN(Ints perm, ReadVector(tensor, rank, "perm"));
  bool seen[kMaxRank] = {};
  for (int64_t& entry : perm) {
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(entry, rank));
    if (seen[axis]) return InvalidArgument("dimension ", axis, " appears twice in perm");
    seen[axis] = true;
    entry = axis;
  }
  return perm;
}

Shape Permuted(const Shape& shape, const Ints& perm) {
  Ints dims;
  for (const int64_t axis : perm) dims.push_back(shape.dim(static_cast<int>(axis)));
  return Shape(std::span<const int64_t>(dims));
}

Status RunTranspose(KernelContext& context) {
  const Tensor& x = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Ints perm, ReadPermutation(context.input(1), x.rank()));
  const Shape shape = Permuted(x.shape(), perm);
  CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const Strides from = RowMajorStrides(x.shape());
  const Strides to = RowMajorStrides(shape);
  CopyDims dims;
  for (size_t i = 0; i < perm.size(); ++i) {
    dims.push_back({shape.dim(static_cast<int>(i)), from[static_cast<size_t>(perm[i])], to[i]});
  }
  CopyStrided(x.dtype(), x.raw_data(), y->mutable_raw_data(), std::move(dims));
  return absl::OkStatus();
}

// True when only dimensions of size 1 change places.
bool KeepsOrder(const Shape& shape, const Ints& perm) {
  int64_t last = -1;
  for (const int64_t axis : perm) {
    if (shape.dim(static_cast<int>(axis)) == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// A transpose that only moves dimensions of size 1 leaves every element where it is.
Status RunTransposeInPlace(KernelContext& context) {
  const Tensor& x = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Ints perm, ReadPermutation(context.input(1), x.rank()));
  context.set_output(0, x.Reshaped(Permuted(x.shape(), perm)));
  return absl::OkStatus();
}

KernelResult MakeTranspose(const KernelRequest& request) {
  Shape shape;
  const Tensor* constant = request.inputs[1].constant;
  if (constant != nullptr && request.InputShape(0, &shape)) {
    const StatusOr<Ints> perm = ReadPermutation(*constant, shape.rank());
    if (perm.ok() && KeepsOrder(shape, *perm)) return FromAlias<RunTransposeInPlace>(request);
  }
  return FromFunction<RunTranspose>(request);
}

Status RunInvertPermutation(KernelContext& context) {
  const Tensor& x = context.input(0);
  if (x.rank() != 1) {
    return InvalidArgument("a permutation should be a vector but has shape ", x.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.shape()));
  Status status;
  DispatchAmong<int32_t, int64_t>(x.dtype(), [&]<typename T>() {
    const std::span<const T> from = x.values<T>();
    const std::span<T> to = y->mutable_values<T>();
    std::ranges::fill(to, T{-1});
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] < 0 || static_cast<size_t>(from[i]) >= from.size()) {
        status = IndexError("x", x.shape(), static_cast<int64_t>(i), from[i], x.dim(0));
        return;
      }
      T& target = to[static_cast<size_t>(from[i])];
      if (target != -1) {
        status = InvalidArgument(from[i], " appears twice in the permutation");
        return;
      }
      target = static_cast<T>(i);
    }
  });
  return status;
}

Status RunReverse(KernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& axes = context.input(1);
  bool reversed[kMaxRank] = {};
  if (input.rank() > 0) {  // a scalar is its own reversal, whatever the axes
    if (axes.rank() != 1) {
      return InvalidArgument("axis should be a vector but has shape ", axes.shape().ToString());
    }
    if (axes.num_elements() > input.rank()) {
      return InvalidArgument("axis names ", axes.num_elements(), " dimensions of an input of ",
                             input.rank());
    }
    for (const int64_t given : ReadInts(axes)) {
      CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(given, input.rank()));
      if (reversed[axis]) return InvalidArgument("axis ", axis, " is given twice");
      reversed[axis] = true;
    }
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
  if (input.num_elements() == 0) return absl::OkStatus();
  const Strides strides = RowMajorStrides(input.shape());
  int64_t offset = 0;
  CopyDims dims;
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t stride = strides[static_cast<size_t>(i)];
    if (reversed[i]) offset += (input.dim(i) - 1) * stride;
    dims.push_back({input.dim(i), reversed[i] ? -stride : stride, stride});
  }
  CopyStrided(input.dtype(), At(input, offset), output->mutable_raw_data(), std::move(dims));
  return absl::OkStatus();
}

class ReverseSequenceKernel final : public Kernel {
 public:
  explicit ReverseSequenceKernel(const KernelRequest& request)
      : seq_dim_(request.attr<int64_t>("seq_dim")),
        batch_dim_(request.attr<int64_t>("batch_dim")) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& lengths = context.input(1);
    const int rank = input.rank();
    if (seq_dim_ < 0 || seq_dim_ >= rank || batch_dim_ < 0 || batch_dim_ >= rank ||
        seq_dim_ == batch_dim_) {
      return InvalidArgument("seq_dim ", seq_dim_, " and batch_dim ", batch_dim_,
                             " should be two different dimensions of the input of shape ",
                             input.shape().ToString());
    }
    const int batch_dim = static_cast<int>(batch_dim_);
    const int seq_dim = static_cast<int>(seq_dim_);
    if (lengths.rank() != 1 || lengths.dim(0) != input.dim(batch_dim)) {
      return InvalidArgument("seq_lengths should have ", input.dim(batch_dim),
                             " elements, the size of dimension ", batch_dim, ", but has shape ",
                             lengths.shape().ToString());
    }
    const auto length = [&](int64_t i) {
      return lengths.dtype() == DType::kInt64 ? lengths.data<int64_t>()[i]
                                              : int64_t{lengths.data<int32_t>()[i]};
    };
    for (int64_t i = 0; i < lengths.dim(0); ++i) {
      if (length(i) < 0 || length(i) > input.dim(seq_dim)) {
        return InvalidArgument("seq_lengths[", i, "] = ", length(i), " is not in [0, ",
                               input.dim(seq_dim), "]");
      }
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    if (input.num_elements() == 0) return absl::OkStatus();

    const Strides strides = RowMajorStrides(input.shape());
    const int64_t batch_stride = strides[static_cast<size_t>(batch_dim)];
    const int64_t step = strides[static_cast<size_t>(seq_dim)];
    CopyDims dims;
    for (int i = 0; i < rank; ++i) {
      const int64_t stride = strides[static_cast<size_t>(i)];
      dims.push_back({i == batch_dim ? 1 : input.dim(i), stride, stride});
    }
    CopyDim& sequence = dims[static_cast<size_t>(seq_dim)];
    for (int64_t i = 0; i < lengths.dim(0); ++i) {
      const int64_t base = i * batch_stride;
      const int64_t n = length(i);
      sequence = {n, -step, step};
      if (n > 0) {
        CopyStrided(input.dtype(), At(input, base + (n - 1) * step), At(*output, base), dims);
      }
      sequence = {input.dim(seq_dim) - n, step, step};
      CopyStrided(input.dtype(), At(input, base + n * step), At(*output, base + n * step), dims);
    }
    return absl::OkStatus();
  }

 private:
  const int64_t seq_dim_;
  const int64_t batch_dim_;
};

Status RunRoll(KernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& shifts = context.input(1);
  const Tensor& axes = context.input(2);
  if (input.rank() == 0) return InvalidArgument("a scalar cannot be rolled");
  if (shifts.rank() > 1 || axes.rank() > 1 || shifts.shape() != axes.shape()) {
    return InvalidArgument(
        "shift and axis should be scalars or vectors of one length but have shapes ",
        shifts.shape().ToString(), " and ", axes.shape().ToString());
  }
  const Ints shift = ReadInts(shifts);
  const Ints axis = ReadInts(axes);
  Ints total(static_cast<size_t>(input.rank()), 0);
  for (size_t i = 0; i < shift.size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const int dim, ResolveAxis(axis[i], input.rank()));
    const int64_t size = std::max<int64_t>(input.dim(dim), 1);
    int64_t& sum = total[static_cast<size_t>(dim)];
    sum = (sum + shift[i] % size + size) % size;
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
  if (input.num_elements() == 0) return absl::OkStatus();

  // Along each rolled dimension there are two ranges: the one that moves up and the one that wraps
  // around. Their combinations are boxes.
  const Strides strides = RowMajorStrides(input.shape());
  Ints rolled;
  for (int i = 0; i < input.rank(); ++i) {
    if (total[static_cast<size_t>(i)] != 0) rolled.push_back(i);
  }
  for (int combination = 0; combination < 1 << rolled.size(); ++combination) {
    CopyDims dims;
    for (int i = 0; i < input.rank(); ++i) {
      dims.push_back(
          {input.dim(i), strides[static_cast<size_t>(i)], strides[static_cast<size_t>(i)]});
    }
    int64_t from = 0;
    int64_t to = 0;
    for (size_t k = 0; k < rolled.size(); ++k) {
      const size_t dim = static_cast<size_t>(rolled[k]);
      const int64_t size = input.dim(static_cast<int>(dim));
      if ((combination >> k & 1) != 0) {
        from += (size - total[dim]) * strides[dim];
        dims[dim].size = total[dim];
      } else {
        to += total[dim] * strides[dim];
        dims[dim].size = size - total[dim];
      }
    }
    CopyStrided(input.dtype(), At(input, from), At(*output, to), std::move(dims));
  }
  return absl::OkStatus();
}

}  // namespace

void AddArrayPermuteKernels(KernelTable& table) {
  table.Add({
      {"Transpose", "ref", MakeTranspose},
      {"ConjugateTranspose", "ref", MakeTranspose},
      {"InvertPermutation", "ref", FromFunction<RunInvertPermutation>},
      {"ReverseV2", "ref", FromFunction<RunReverse>},
      {"ReverseSequence", "ref", FromClass<ReverseSequenceKernel>},
      {"Roll", "ref", FromFunction<RunRoll>},
  });
}

}  // namespace carillon
