#include "kernels/ref/math.h"

#include "kernels/families.h"

namespace carillon {

void AddMathReferenceKernels(KernelTable& table) {
  AddMathBinaryKernels(table);
  AddMathCompareKernels(table);
  AddMathUnaryKernels(table);
  AddMathReduceKernels(table);
  AddMathOrderKernels(table);
  AddMathScanKernels(table);
  AddMathMatMulKernels(table);
  AddMathSegmentKernels(table);
  AddMathSparseSegmentKernels(table);
  AddMathMiscKernels(table);
}

}  // namespace carillon
