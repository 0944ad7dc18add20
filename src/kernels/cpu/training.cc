#include "kernels/kernel.h"

namespace carillon {

void AddTrainingCpuKernels(KernelTable& table) {}

}  // namespace carillon
