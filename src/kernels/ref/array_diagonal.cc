// Kernels for diagonals and bands of matrices.
#include <algorithm>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// A tensor of rank k becomes the diagonal of one of rank 2k.
Status RunDiag(KernelContext& context) {
  const Tensor& diagonal = context.input(0);
  if (diagonal.rank() < 1) return InvalidArgument("the diagonal should not be a scalar");
  Ints dims(diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  dims.insert(dims.end(), diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
  const int64_t n = diagonal.num_elements();
  CopyStrided(diagonal.dtype(), diagonal.raw_data(), output->mutable_raw_data(), {{n, 1, n + 1}});
  return absl::OkStatus();
}

Status RunDiagPart(KernelContext& context) {
  const Tensor& input = context.input(0);
  const int half = input.rank() / 2;
  const auto dims = input.shape().dims();
  if (half == 0 || input.rank() % 2 != 0 ||
      !std::equal(dims.begin(), dims.begin() + half, dims.begin() + half)) {
    return InvalidArgument(
        "the input should have an even rank, and its first half of dimensions be like the second, "
        "but it has shape ",
        input.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims.first(static_cast<size_t>(half))));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  const int64_t n = shape.num_elements();
  CopyStrided(input.dtype(), input.raw_data(), output->mutable_raw_data(), {{n, n + 1, 1}});
  return absl::OkStatus();
}

Status RunMatrixDiag(KernelContext& context) {
  const Tensor& diagonal = context.input(0);
  if (diagonal.rank() < 1) return InvalidArgument("the diagonal should not be a scalar");
  const int64_t n = diagonal.dim(diagonal.rank() - 1);
  Ints dims(diagonal.shape().dims().begin(), diagonal.shape().dims().end());
  dims.push_back(n);
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  ZeroElements(output->dtype(), output->mutable_raw_data(), shape.num_elements());
  if (shape.num_elements() == 0) return absl::OkStatus();
  CopyStrided(diagonal.dtype(), diagonal.raw_data(), output->mutable_raw_data(),
              {{diagonal.num_elements() / n, n, n * n}, {n, 1, n + 1}});
  return absl::OkStatus();
}

// The last two dimensions as matrices.
struct Matrices {
  int64_t count;
  int64_t rows;
  int64_t columns;
  int64_t diagonal() const { return std::min(rows, columns); }
};

StatusOr<Matrices> AsMatrices(const Shape& shape) {
  if (shape.rank() < 2) {
    return InvalidArgument("the input should have at least two dimensions but has shape ",
                           shape.ToString());
  }
  return Matrices{ElementsBefore(shape, shape.rank() - 2), shape.dim(shape.rank() - 2),
                  shape.dim(shape.rank() - 1)};
}

StatusOr<Shape> DiagonalShape(const Shape& shape, const Matrices& matrices) {
  Ints dims(shape.dims().begin(), shape.dims().end() - 2);
  dims.push_back(matrices.diagonal());
  return MakeShape(dims);
}

Status RunMatrixDiagPart(KernelContext& context) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const Matrices matrices, AsMatrices(input.shape()));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, DiagonalShape(input.shape(), matrices));
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t n = matrices.diagonal();
  CopyStrided(
      input.dtype(), input.raw_data(), output->mutable_raw_data(),
      {{matrices.count, matrices.rows * matrices.columns, n}, {n, matrices.columns + 1, 1}});
  return absl::OkStatus();
}

// Output 0 as a copy of input 0, or over it.
StatusOr<Tensor*> CopyOfInput(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  const void* from = context.input(0).raw_data();
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape));
  if (output->raw_data() != from) {
    CopyElements(output->dtype(), from, output->mutable_raw_data(), shape.num_elements());
  }
  return output;
}

Status RunMatrixSetDiag(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  const Tensor& diagonal = context.input(1);
  CARILLON_ASSIGN_OR_RETURN(const Matrices matrices, AsMatrices(shape));
  CARILLON_ASSIGN_OR_RETURN(const Shape wanted, DiagonalShape(shape, matrices));
  if (diagonal.shape() != wanted) {
    return InvalidArgument("the diagonal of an input of shape ", shape.ToString(),
                           " should have shape ", wanted.ToString(), " but has ",
                           diagonal.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, CopyOfInput(context));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t n = matrices.diagonal();
  CopyStrided(
      diagonal.dtype(), diagonal.raw_data(), output->mutable_raw_data(),
      {{matrices.count, n, matrices.rows * matrices.columns}, {n, 1, matrices.columns + 1}});
  return absl::OkStatus();
}

Status RunMatrixBandPart(KernelContext& context) {
  const Shape shape = context.input(0).shape();
  CARILLON_ASSIGN_OR_RETURN(const Matrices matrices, AsMatrices(shape));
  CARILLON_ASSIGN_OR_RETURN(int64_t lower, ReadScalarInt(context.input(1), "num_lower"));
  CARILLON_ASSIGN_OR_RETURN(int64_t upper, ReadScalarInt(context.input(2), "num_upper"));
  if (lower > matrices.rows || upper > matrices.columns) {
    return InvalidArgument("num_lower ", lower, " and num_upper ", upper,
                           " should be at most the numbers of rows and columns of shape ",
                           shape.ToString(), ", or negative");
  }
  if (lower < 0) lower = matrices.rows;
  if (upper < 0) upper = matrices.columns;
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, CopyOfInput(context));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t columns = matrices.columns;
  DispatchBySize(output->dtype(), [&]<typename T>() {
    T* data = static_cast<T*>(output->mutable_raw_data());
    const auto body = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % matrices.rows;
        const int64_t first = std::clamp<int64_t>(row - lower, 0, columns);
        const int64_t past = std::clamp<int64_t>(row + upper + 1, 0, columns);
        std::fill(data + i * columns, data + i * columns + first, T{});
        std::fill(data + i * columns + past, data + (i + 1) * columns, T{});
      }
    };
    const int64_t rows = matrices.count * matrices.rows;
    ForRanges<T>(rows, columns, body);
  });
  return absl::OkStatus();
}

template <KernelFn fn>
KernelResult MakeInPlace(const KernelRequest&) {
  KernelTraits traits;
  traits.reuses.push_back({0, 0});
  return MakeFunctionKernel(fn, std::move(traits));
}

}  // namespace

void AddArrayDiagonalKernels(KernelTable& table) {
  table.Add({
      {"Diag", "ref", FromFunction<RunDiag>},
      {"DiagPart", "ref", FromFunction<RunDiagPart>},
      {"MatrixDiag", "ref", FromFunction<RunMatrixDiag>},
      {"MatrixDiagPart", "ref", FromFunction<RunMatrixDiagPart>},
      {"MatrixSetDiag", "ref", MakeInPlace<RunMatrixSetDiag>},
      {"MatrixBandPart", "ref", MakeInPlace<RunMatrixBandPart>},
  });
}

}  // namespace carillon
