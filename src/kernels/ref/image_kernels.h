// The pieces of the image family.
#pragma once

#include "kernels/kernel.h"

namespace carillon {

// Input `i`, two sizes: [height, width], both positive.
struct ImageSize {
  int64_t height = 0, width = 0;
};
StatusOr<ImageSize> SizeInput(const KernelContext& context, int i);

// How far apart, in the input, neighbouring pixels of the output lie.
inline float ResizeScale(int64_t in, int64_t out, bool align_corners) {
  return align_corners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                  : static_cast<float>(in) / static_cast<float>(out);
}

void AddImageCodecKernels(KernelTable& table);
void AddImageResizeKernels(KernelTable& table);
void AddImageResizeGradKernels(KernelTable& table);
void AddImageColorKernels(KernelTable& table);
void AddImageCropKernels(KernelTable& table);
void AddImageCropGradKernels(KernelTable& table);

}  // namespace carillon
