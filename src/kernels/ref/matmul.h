// What a product of matrices, or of batches of them, consists of.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "carillon/shape.h"
#include "kernels/kernel.h"
#include "kernels/ref/broadcast.h"

namespace carillon {

// What the node asks for, of MatMul, BatchMatMul, BatchMatMulV2 and BatchMatMulV3 alike.
struct MatMulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  bool is_batch = false;    // else operands are plain matrices
  bool broadcasts = false;  // batch dimensions need not be the same

  explicit MatMulOptions(const KernelRequest& request);
};

// out[m, n] = Σ a[m, k] b[k, n] for each pair of matrices. Strides are in elements and already
// account for transposition.
struct MatMulPlan {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_column = 0;
  int64_t b_row = 0, b_column = 0;
  Shape output;
  Broadcast batches;  // over matrices, not elements: operand 0 is a, 1 is b

  // InvalidArgument when the shapes do not fit.
  static StatusOr<MatMulPlan> Make(const MatMulOptions& options, const Shape& a, const Shape& b);
};

}  // namespace carillon
