#include "kernels/kernel.h"

namespace carillon {

void AddControlFlowReferenceKernels(KernelTable& table) {}

}  // namespace carillon
