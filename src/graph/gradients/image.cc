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

// By boxes as if the crop were bilinear: by their places nearest pixels do not change.
void CropAndResizeGradient(GradContext& c) {
  if (IsFloating(c.input(0).dtype())) {
    const Output size = OpBuilder("Shape").Arg(c.input(0));
    c.set(0, Output(WithAttrs(OpBuilder("CropAndResizeGradImage"), c.op(), {"T", "method"})
                        .Arg(c.grad())
                        .Arg(c.input(1))
                        .Arg(c.input(2))
                        .Arg(size)));
  }
  c.set(1, Output(OpBuilder("CropAndResizeGradBoxes")
                      .Arg(c.grad())
                      .Arg(c.input(0))
                      .Arg(c.input(1))
                      .Arg(c.input(2))));
}

}  // namespace

void AddImageGradients(GradTable& grads) {
  grads.Add("ResizeBilinear", ResizeBilinearGradient);
  grads.Add("ResizeNearestNeighbor", ResizeNearestGradient);
  grads.Add("CropAndResize", CropAndResizeGradient);
}

}  // namespace carillon
