// Kernels of the ops for records and text that hold values.
#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {

void AddParsingReferenceKernels(KernelTable& table) {}

}  // namespace carillon
