// What the files of the state kernels share.
#pragma once

#include <memory>

#include "base/status.h"
#include "kernels/kernel.h"
#include "kernels/variable.h"

namespace carillon {

// Kernels that change a variable come in two forms: those on references hand the reference on as
// output 0, those on resource handles have no output.
inline KernelTraits UpdateTraits(const KernelRequest& request) {
  KernelTraits traits;
  if (request.node.num_outputs() > 0) traits.aliases.push_back({0, 0});
  return traits;
}
inline void PassReference(KernelContext& context) {
  if (context.num_outputs() > 0) context.set_output(0, context.input(0));
}

// The variable behind input i, which must hold `dtype`.
StatusOr<std::shared_ptr<VariableResource>> VariableInput(const KernelContext& context, int i,
                                                          DType dtype);

// The elements of an int32 or int64 tensor as int64, in a temporary where they have to be widened.
StatusOr<Tensor> IndicesAsInt64(KernelContext& context, const Tensor& indices);

void AddStateScatterKernels(KernelTable& table);
void AddStateScatterNdKernels(KernelTable& table);
void AddStateGatherKernels(KernelTable& table);
void AddStateStackKernels(KernelTable& table);

}  // namespace carillon
