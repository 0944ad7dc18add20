// Kernels of the ops for barriers, staging areas and values kept in the session.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddStagingReferenceKernels(KernelTable& table) {}

}  // namespace carillon
