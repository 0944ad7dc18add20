// MatMul with the bias and the Relu that follow it, as plain loops.
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

Status RunFusedMatMul(KernelContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const Tensor& bias = context.input(2);
  const bool transpose_a = context.node().attr<bool>("transpose_a");
  const bool transpose_b = context.node().attr<bool>("transpose_b");
  const bool relu = context.node().attr<bool>("relu");
  if (a.rank() != 2 || b.rank() != 2 || a.dim(transpose_a ? 0 : 1) != b.dim(transpose_b ? 1 : 0) ||
      bias.shape() != Shape{b.dim(transpose_b ? 0 : 1)}) {
    return InvalidArgument("matrices of shapes ", a.shape().ToString(), " and ",
                           b.shape().ToString(), " and a bias of shape ", bias.shape().ToString(),
                           " do not go together");
  }
  const int64_t rows = a.dim(transpose_a ? 1 : 0);
  const int64_t depth = a.dim(transpose_a ? 0 : 1);
  const int64_t columns = bias.dim(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * product, context.AllocateOutput(0, Shape{rows, columns}));
  const int64_t a_row = transpose_a ? 1 : depth, a_step = transpose_a ? rows : 1;
  const int64_t b_row = transpose_b ? 1 : columns, b_column = transpose_b ? depth : 1;
  if (!DispatchFloating(a.dtype(), [&]<typename T>() {
        using A = Accumulator<T>;
        const T* left = a.data<T>();
        const T* right = b.data<T>();
        T* out = product->mutable_data<T>();
        ParallelFor(rows, GrainFor(static_cast<double>(depth) * static_cast<double>(columns)),
                    [&](int64_t begin, int64_t end) {
                      std::vector<A> sums(static_cast<size_t>(columns));
                      for (int64_t i = begin; i < end && !WorkIsCancelled(); ++i) {
                        for (int64_t j = 0; j < columns; ++j)
                          sums[static_cast<size_t>(j)] = static_cast<A>(bias.data<T>()[j]);
                        for (int64_t k = 0; k < depth; ++k) {
                          const A factor = static_cast<A>(left[i * a_row + k * a_step]);
                          for (int64_t j = 0; j < columns; ++j) {
                            sums[static_cast<size_t>(j)] +=
                                factor * static_cast<A>(right[k * b_row + j * b_column]);
                          }
                        }
                        for (int64_t j = 0; j < columns; ++j) {
                          const A sum = sums[static_cast<size_t>(j)];
                          out[i * columns + j] = static_cast<T>(relu && sum < A{0} ? A{0} : sum);
                        }
                      }
                    });
      })) {
    return NoSuchType(context.node(), a.dtype());
  }
  return CheckWanted();
}

}  // namespace

void AddFusedMatMulReferenceKernels(KernelTable& table) {
  table.Add({"_FusedMatMul", "ref", FromFunction<RunFusedMatMul>});
}

}  // namespace carillon
