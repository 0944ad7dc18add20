#include "kernels/cpu/nn.h"

#include "kernels/cpu/image_layout.h"
#include "kernels/families.h"

namespace carillon {

void AddNnCpuKernels(KernelTable& table) {
  table.set_reorder(MakeCpuReorder);
  AddConvCpuKernels(table);
  AddPoolCpuKernels(table);
  AddBiasCpuKernels(table);
  AddLayoutedElementwiseCpuKernels(table);
  AddBatchNormCpuKernels(table);
  AddSoftmaxCpuKernels(table);
  AddFusedMatMulCpuKernels(table);
}

}  // namespace carillon
