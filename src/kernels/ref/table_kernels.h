// What the files of the kernels for tables share.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

void AddTableFileKernels(KernelTable& table);  // InitializeTableFromTextFile

}  // namespace carillon
