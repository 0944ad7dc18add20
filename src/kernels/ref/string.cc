// Kernels of the ops for strings.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddStringReferenceKernels(KernelTable& table) {}

}  // namespace carillon
