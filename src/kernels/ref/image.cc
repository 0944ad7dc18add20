// The list of the image kernels.
#include "kernels/families.h"
#include "kernels/ref/image_kernels.h"

namespace carillon {

StatusOr<ImageSize> SizeInput(const KernelContext& context, int i) {
  const Tensor& size = context.input(i);
  if (size.rank() != 1 || size.dim(0) != 2) {
    return InvalidArgument("a size should have the shape [2] but has ", size.shape().ToString());
  }
  const auto* values = size.data<int32_t>();
  if (values[0] <= 0 || values[1] <= 0) {
    return InvalidArgument("a size should be positive but is ", values[0], " x ", values[1]);
  }
  return ImageSize{values[0], values[1]};
}

void AddImageReferenceKernels(KernelTable& table) {
  AddImageCodecKernels(table);
  AddImageResizeKernels(table);
  AddImageResizeGradKernels(table);
  AddImageColorKernels(table);
  AddImageCropKernels(table);
}

}  // namespace carillon
