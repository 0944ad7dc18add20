#include "kernels/kernel.h"

namespace carillon {

void AddTrainingReferenceKernels(KernelTable& table) {}

}  // namespace carillon
