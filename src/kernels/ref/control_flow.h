// The parts of the control-flow family.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

// Assert, Print, PrintV2, StringFormat: control_flow_print.cc.
void AddPrintKernels(KernelTable& table);

}  // namespace carillon
