// Kernels of the ops for data sets and iterators.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddDatasetReferenceKernels(KernelTable& table) {}

}  // namespace carillon
