// Kernels of the ops for arrays and lists of tensors.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddListReferenceKernels(KernelTable& table) {}

}  // namespace carillon
