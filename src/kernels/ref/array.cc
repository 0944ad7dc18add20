#include "kernels/kernel.h"

namespace carillon {

void AddArrayReferenceKernels(KernelTable& table) {}

}  // namespace carillon
