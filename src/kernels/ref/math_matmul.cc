// Products of matrices, for every dtype: the plain way.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/math.h"
#include "kernels/ref/matmul.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

constexpr int64_t kRows = 4;     // of the output, computed together, so that b is read less often
constexpr int64_t kWidth = 128;  // columns of b that are packed together

// A panel of `width` columns of b, packed row by row and converted: transposition and the type of b
// are settled here, outside the inner loop.
template <typename B, typename C>
void PackPanel(const B* b, const MatMulPlan& plan, int64_t column, int64_t width, C* panel) {
  ParallelFor(plan.k, std::max<int64_t>(1, 32 * 1024 / width), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      for (int64_t j = 0; j < width; ++j)
        panel[k * width + j] = static_cast<C>(b[k * plan.b_row + (column + j) * plan.b_column]);
    }
  });
}

// Rows first … first + rows - 1 of the output, times one panel.
template <typename A, typename C, typename Out>
void MultiplyRows(const A* a, const C* panel, const MatMulPlan& plan, int64_t first, int64_t rows,
                  int64_t column, int64_t width, Out* out) {
  C sums[kRows][kWidth];
  for (int64_t i = 0; i < rows; ++i) std::fill_n(sums[i], width, C(0));
  for (int64_t k = 0; k < plan.k; ++k) {
    const C* row = panel + k * width;
    for (int64_t i = 0; i < rows; ++i) {
      const C factor = static_cast<C>(a[(first + i) * plan.a_row + k * plan.a_column]);
      for (int64_t j = 0; j < width; ++j) sums[i][j] = WrapAdd(sums[i][j], WrapMul(factor, row[j]));
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    Out* to = out + (first + i) * plan.n + column;
    for (int64_t j = 0; j < width; ++j) to[j] = static_cast<Out>(sums[i][j]);
  }
}

// C is the type to compute in.
template <typename A, typename B, typename C, typename Out>
Status MultiplyAll(const MatMulPlan& plan, const Tensor& a, const Tensor& b, Tensor* out,
                   KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(
      Tensor memory,
      context.AllocateTemporary(kDTypeOf<C>, Shape{plan.k * std::min(plan.n, kWidth)}));
  C* panel = memory.mutable_data<C>();
  const auto multiply = [&](const A* left, const B* right, Out* product) {
    for (int64_t column = 0; column < plan.n && !WorkIsCancelled(); column += kWidth) {
      const int64_t width = std::min(kWidth, plan.n - column);
      PackPanel(right, plan, column, width, panel);
      const int64_t blocks = (plan.m + kRows - 1) / kRows;
      const int64_t block_work = kRows * width * std::max<int64_t>(plan.k, 1);
      ParallelFor(blocks, std::max<int64_t>(1, 64 * 1024 / block_work),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t block = begin; block < end; ++block) {
                      if (WorkIsCancelled()) return;
                      const int64_t first = block * kRows;
                      MultiplyRows(left, panel, plan, first, std::min(kRows, plan.m - first),
                                   column, width, product);
                    }
                  });
    }
  };
  const Broadcast& batches = plan.batches;
  const auto last = static_cast<size_t>(batches.rank - 1);
  batches.ForEachRun(
      0, batches.shape.num_elements(), [&](const auto& offsets, int64_t at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          multiply(a.data<A>() + (offsets[0] + i * batches.strides[0][last]) * plan.m * plan.k,
                   b.data<B>() + (offsets[1] + i * batches.strides[1][last]) * plan.k * plan.n,
                   out->mutable_data<Out>() + (at + i) * plan.m * plan.n);
        }
      });
  return CheckWanted();
}

using MultiplyFn = Status (*)(const MatMulPlan& plan, const Tensor& a, const Tensor& b, Tensor* out,
                              KernelContext& context);

// Null when that combination of types has no product.
MultiplyFn FindMultiply(DType a, DType b, DType out) {
  MultiplyFn found = nullptr;
  if (a == b && b == out) {
    DispatchAmong<float, double, int32_t, int64_t, Half, Bfloat16, int16_t>(
        a, [&]<typename T>() { found = MultiplyAll<T, T, Compute<T>, T>; });
  } else if (out == DType::kInt32) {
    DispatchAmong<int8_t, uint8_t>(a, [&]<typename A>() {
      DispatchAmong<int8_t, uint8_t>(
          b, [&]<typename B>() { found = MultiplyAll<A, B, int32_t, int32_t>; });
    });
  } else if (out == DType::kBfloat16) {
    if (a == DType::kBfloat16) {
      DispatchAmong<int8_t, uint8_t>(
          b, [&]<typename B>() { found = MultiplyAll<Bfloat16, B, float, Bfloat16>; });
    } else if (b == DType::kBfloat16) {
      DispatchAmong<int8_t, uint8_t>(
          a, [&]<typename A>() { found = MultiplyAll<A, Bfloat16, float, Bfloat16>; });
    }
  }
  return found;
}

class MatMulKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const MultiplyFn multiply =
        FindMultiply(request.input_dtype(0), request.input_dtype(1), request.output_dtype(0));
    if (multiply == nullptr) {
      return Unimplemented("no product of ", DTypeName(request.input_dtype(0)), " and ",
                           DTypeName(request.input_dtype(1)), " as ",
                           DTypeName(request.output_dtype(0)));
    }
    return std::make_unique<MatMulKernel>(MatMulOptions(request), multiply);
  }
  MatMulKernel(const MatMulOptions& options, MultiplyFn multiply)
      : options_(options), multiply_(multiply) {}

  Status Run(KernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const MatMulPlan plan,
                              MatMulPlan::Make(options_, a.shape(), b.shape()));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, plan.output));
    if (out->num_elements() == 0) return absl::OkStatus();
    return multiply_(plan, a, b, out, context);
  }

 private:
  const MatMulOptions options_;
  const MultiplyFn multiply_;
};

}  // namespace

MatMulOptions::MatMulOptions(const KernelRequest& request)
    : is_batch(request.node.op() != "MatMul"),
      broadcasts(is_batch && request.node.op() != "BatchMatMul") {
  transpose_a = request.attr<bool>(is_batch ? "adj_x" : "transpose_a");
  transpose_b = request.attr<bool>(is_batch ? "adj_y" : "transpose_b");
}

StatusOr<MatMulPlan> MatMulPlan::Make(const MatMulOptions& options, const Shape& a,
                                      const Shape& b) {
  const auto batch_of = [](const Shape& shape) {
    return Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 2)));
  };
  for (const Shape* shape : {&a, &b}) {
    if (options.is_batch ? shape->rank() < 2 : shape->rank() != 2) {
      return InvalidArgument("an operand should be a matrix", options.is_batch ? " or more" : "",
                             " but has shape ", shape->ToString());
    }
  }
  MatMulPlan plan;
  if (options.is_batch) {
    const Shape a_batch = batch_of(a);
    const Shape b_batch = batch_of(b);
    if (!options.broadcasts && !(a_batch == b_batch)) {
      return InvalidArgument("operands should have the same batch dimensions but have shapes ",
                             a.ToString(), " and ", b.ToString());
    }
    auto batches = Broadcast::Make({&a_batch, &b_batch});
    if (!batches.ok()) {
      return InvalidArgument("batch dimensions do not go together: ", a.ToString(), " and ",
                             b.ToString());
    }
    plan.batches = *std::move(batches);
  } else {
    plan.batches.dims[0] = 1;
  }
  const int64_t a_rows = a.dim(a.rank() - 2), a_columns = a.dim(a.rank() - 1);
  const int64_t b_rows = b.dim(b.rank() - 2), b_columns = b.dim(b.rank() - 1);
  plan.m = options.transpose_a ? a_columns : a_rows;
  plan.k = options.transpose_a ? a_rows : a_columns;
  plan.n = options.transpose_b ? b_rows : b_columns;
  if (plan.k != (options.transpose_b ? b_columns : b_rows)) {
    return InvalidArgument("Matrix size-incompatible: In[0]: ", a.ToString(),
                           options.transpose_a ? " (transposed)" : "", ", In[1]: ", b.ToString(),
                           options.transpose_b ? " (transposed)" : "");
  }
  plan.a_row = options.transpose_a ? 1 : a_columns;
  plan.a_column = options.transpose_a ? a_columns : 1;
  plan.b_row = options.transpose_b ? 1 : b_columns;
  plan.b_column = options.transpose_b ? b_columns : 1;
  std::array<int64_t, kMaxRank> dims{};
  const size_t batch_rank = plan.batches.shape.dims().size();
  std::copy_n(plan.batches.shape.dims().begin(), batch_rank, dims.begin());
  dims[batch_rank] = plan.m;
  dims[batch_rank + 1] = plan.n;
  if (!Shape::TryMake({dims.data(), batch_rank + 2}, &plan.output)) {
    return InvalidArgument("the product of ", a.ToString(), " and ", b.ToString(),
                           " has more elements than can be");
  }
  return plan;
}

void AddMathMatMulKernels(KernelTable& table) {
  table.Add({
      {"MatMul", "ref", FromClass<MatMulKernel>},
      {"BatchMatMul", "ref", FromClass<MatMulKernel>},
      {"BatchMatMulV2", "ref", FromClass<MatMulKernel>},
      {"BatchMatMulV3", "ref", FromClass<MatMulKernel>},
  });
}

}  // namespace carillon
