// Kernels of the ops for summaries.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddSummaryReferenceKernels(KernelTable& table) {}

}  // namespace carillon
