// Kernels of the ops for calls of functions.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddFunctionReferenceKernels(KernelTable& table) {}

}  // namespace carillon
