// Kernels of the ops for accumulators of gradients.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddAccumulatorReferenceKernels(KernelTable& table) {}

}  // namespace carillon
