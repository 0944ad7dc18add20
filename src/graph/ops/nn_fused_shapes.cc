// Shape functions of the nn ops that passes make.
#include "graph/ops/nn_shapes.h"

namespace carillon {
namespace {

// Input `bias` is a vector with one element for each element of dimension `axis` of the output.
Status CheckBias(const ShapeContext& c, int bias, int64_t channels) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape vector, c.WithRank(bias, 1));
  return MergeDim(vector.dim(0), channels).status();
}

}  // namespace

Status FusedConv2DShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(Conv2DShape(c));
  const PartialShape filter = c.input(1);
  return CheckBias(c, 2, filter.has_rank() ? filter.dim(3) : -1);
}

Status ConvBackpropFilterBiasShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(Conv2DBackpropFilterShape(c));
  c.set_output(1, PartialShape{c.node().output(0).shape.dim(3)});
  return absl::OkStatus();
}

Status FusedMatMulShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape a, c.WithRank(0, 2));
  CARILLON_ASSIGN_OR_RETURN(PartialShape b, c.WithRank(1, 2));
  const bool transpose_a = c.attr<bool>("transpose_a");
  const bool transpose_b = c.attr<bool>("transpose_b");
  CARILLON_RETURN_IF_ERROR(
      MergeDim(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).status());
  const int64_t columns = b.dim(transpose_b ? 0 : 1);
  CARILLON_RETURN_IF_ERROR(CheckBias(c, 2, columns));
  c.set_output(0, PartialShape{a.dim(transpose_a ? 1 : 0), columns});
  return absl::OkStatus();
}

Status FusedBatchNormReluShape(ShapeContext& c) { return FusedBatchNormShape(c); }

Status FusedBatchNormReluGradShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape x, MergeShapes(c.input(0), c.input(1)));
  CARILLON_ASSIGN_OR_RETURN(PartialShape scale, c.WithRank(2, 1));
  c.set_output(0, x);
  c.set_output(1, scale);
  c.set_output(2, scale);
  for (int i = 3; i < c.num_outputs(); ++i) c.set_output(i, x);
  return absl::OkStatus();
}

}  // namespace carillon
