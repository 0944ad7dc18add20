// Kernels of the ops for files and readers.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddFileReferenceKernels(KernelTable& table) {}

}  // namespace carillon
