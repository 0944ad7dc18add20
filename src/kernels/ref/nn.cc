#include "kernels/ref/nn.h"

#include <array>

#include "kernels/families.h"

namespace carillon {

StatusOr<Shape> ShapeFromSizes(const Tensor& sizes, int rank) {
  std::array<int64_t, kMaxRank> dims{};
  if (sizes.dtype() != DType::kInt32 || sizes.rank() != 1 || sizes.dim(0) != rank) {
    return InvalidArgument("expected ", rank, " sizes of type int32 but got ", sizes.ToString());
  }
  for (int i = 0; i < rank; ++i) dims[static_cast<size_t>(i)] = sizes.data<int32_t>()[i];
  Shape shape;
  if (!Shape::TryMake({dims.data(), static_cast<size_t>(rank)}, &shape)) {
    return InvalidArgument(sizes.ToString(), " is no shape of a tensor");
  }
  return shape;
}

void AddNnReferenceKernels(KernelTable& table) {
  AddConvReferenceKernels(table);
  AddDepthwiseConvReferenceKernels(table);
  AddMaxPoolReferenceKernels(table);
  AddAvgPoolReferenceKernels(table);
  AddBiasReferenceKernels(table);
  AddActivationReferenceKernels(table);
  AddSoftmaxReferenceKernels(table);
  AddLrnReferenceKernels(table);
  AddBatchNormReferenceKernels(table);
  AddFusedMatMulReferenceKernels(table);
}

}  // namespace carillon
