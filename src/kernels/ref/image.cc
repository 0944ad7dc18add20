// Kernels of the ops for pictures.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddImageReferenceKernels(KernelTable& table) {}

}  // namespace carillon
