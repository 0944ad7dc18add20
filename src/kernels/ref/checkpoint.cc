// Kernels of the ops for checkpoints.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddCheckpointReferenceKernels(KernelTable& table) {}

}  // namespace carillon
