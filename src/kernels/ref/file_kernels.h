// The parts of the file family's kernels.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

void AddFileReaderKernels(KernelTable& table);

}  // namespace carillon
