// Kernels of the ops for hash tables.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddTableReferenceKernels(KernelTable& table) {}

}  // namespace carillon
