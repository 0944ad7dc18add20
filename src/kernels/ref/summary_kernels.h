// The pieces of the summary family.
#pragma once

#include <string>

#include "kernels/kernel.h"
#include "proto/summary.pb.h"

namespace carillon {

// Output 0 is the message.
void SetSummary(KernelContext& context, const tensorflow::Summary& summary);
// About what protobuf takes for the summary of the inputs.
size_t BytesOfSummary(const KernelContext& context);
// Input `i`, a string scalar.
StatusOr<std::string> ScalarTag(const KernelContext& context, int i);

void AddSummaryImageKernels(KernelTable& table);
void AddSummaryAudioKernels(KernelTable& table);

}  // namespace carillon
