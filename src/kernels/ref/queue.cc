// Kernels of the ops for queues.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddQueueReferenceKernels(KernelTable& table) {}

}  // namespace carillon
