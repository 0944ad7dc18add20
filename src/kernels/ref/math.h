// The parts of the math family: each adds the kernels of one file.
#pragma once

#include "kernels/kernel.h"
#include "kernels/ref/elementwise.h"

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

// Loops that several files need; null when there is none for the dtype.
enum class Arithmetic { kAdd, kMultiply, kMaximum, kMinimum };
BinaryLoop FindArithmeticLoop(Arithmetic op, DType dtype);

}  // namespace carillon
