// The parts of the math family: each adds the kernels of one file.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

void AddMathBinaryKernels(KernelTable& table);
void AddMathCompareKernels(KernelTable& table);
void AddMathUnaryKernels(KernelTable& table);
void AddMathReduceKernels(KernelTable& table);
void AddMathOrderKernels(KernelTable& table);
void AddMathScanKernels(KernelTable& table);
void AddMathMatMulKernels(KernelTable& table);
void AddMathSegmentKernels(KernelTable& table);
void AddMathSparseSegmentKernels(KernelTable& table);
void AddMathMiscKernels(KernelTable& table);

}  // namespace carillon
