// Gradients of the ops for pictures.
#include "graph/gradients/nn.h"

namespace carillon {
namespace {

void ResizeBilinearGradient(GradContext& c) {
  c.set(0, Output(WithAttrs(OpBuilder("ResizeBilinearGrad"), c.op(),
                            {"align_corners", "half_pixel_centers"})
                      .Arg(c.grad())
                      .Arg(c.input(0))));
}

void ResizeNearestGradient(GradContext& c) {
  const Output shape = OpBuilder("Shape").Arg(c.input(0));
  const Output size = OpBuilder("StridedSlice").Arg(shape).Arg({1}).Arg({3}).Arg({1});
  c.set(0, Output(WithAttrs(OpBuilder("ResizeNearestNeighborGrad"), c.op(),
                            {"align_corners", "half_pixel_centers"})
                      .Arg(c.grad())
                      .Arg(size)));
}

}  // namespace

void AddImageGradients(GradTable& grads) {
  grads.Add("ResizeBilinear", ResizeBilinearGradient);
  grads.Add("ResizeNearestNeighbor", ResizeNearestGradient);
}

}  // namespace carillon
