// The pieces of the parsing family.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

void AddParsingRawKernels(KernelTable& table);
void AddParsingCsvKernels(KernelTable& table);
void AddParsingExampleKernels(KernelTable& table);

}  // namespace carillon
