// The files that together make the fast math kernels of the CPU.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

void AddMatMulCpuKernels(KernelTable& table);

}  // namespace carillon
