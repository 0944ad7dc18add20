// What the files of the kernels for barriers, staging areas and session tensors share.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

void AddBarrierKernels(KernelTable& table);
void AddStagingAreaKernels(KernelTable& table);
void AddSessionTensorKernels(KernelTable& table);

}  // namespace carillon
