#include "kernels/kernel.h"

namespace carillon {

void AddStateReferenceKernels(KernelTable& table) {}

}  // namespace carillon
