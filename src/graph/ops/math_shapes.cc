#include "graph/ops/math_shapes.h"

#include <algorithm>
#include <array>

namespace carillon {
namespace {

// Dimensions first … of `shape` after those of `head`; nothing is known when they would be too
// many.
PartialShape Concatenated(PartialShape head, const PartialShape& shape, int first) {
  for (int i = first; i < shape.rank(); ++i) {
    if (head.rank() == kMaxRank) return PartialShape();
    head.AddDim(shape.dim(i));
  }
  return head;
}

// `shape` with another first dimension.
PartialShape WithFirstDim(PartialShape shape, int64_t size) {
  if (shape.has_rank()) shape.set_dim(0, size);
  return shape;
}

// Input i is a scalar. Its value, which must not be negative, or -1 when it is not known.
StatusOr<int64_t> ScalarSize(const ShapeContext& c, int i, std::string_view what) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
  const std::optional<int64_t> size = c.input_as_int(i);
  if (!size.has_value()) return -1;
  if (*size < 0) return InvalidArgument(what, " should not be negative but is ", *size);
  return *size;
}

Status BatchMatMulShape(ShapeContext& c, bool broadcasts) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape a, c.WithRankAtLeast(0, 2));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape b, c.WithRankAtLeast(1, 2));
  const bool adj_x = c.attr<bool>("adj_x");
  const bool adj_y = c.attr<bool>("adj_y");
  // Of an operand without known rank nothing can be said; the other one still gives a rank when
  // both must have the same.
  if (!a.has_rank() || !b.has_rank()) {
    const PartialShape& known = a.has_rank() ? a : b;
    if (broadcasts || !known.has_rank()) {
      c.set_output(0, PartialShape());
      return absl::OkStatus();
    }
    PartialShape out = known;
    out.set_dim(out.rank() - 2, -1);
    out.set_dim(out.rank() - 1, -1);
    if (a.has_rank()) {
      out.set_dim(out.rank() - 2, a.dim(a.rank() - (adj_x ? 1 : 2)));
    } else {
      out.set_dim(out.rank() - 1, b.dim(b.rank() - (adj_y ? 2 : 1)));
    }
    c.set_output(0, out);
    return absl::OkStatus();
  }
  const auto batch_of = [](const PartialShape& shape) {
    return PartialShape(shape.dims().first(static_cast<size_t>(shape.rank() - 2)));
  };
  PartialShape out;
  if (broadcasts) {
    CARILLON_ASSIGN_OR_RETURN(out, BroadcastShapes(batch_of(a), batch_of(b)));
  } else {
    CARILLON_ASSIGN_OR_RETURN(out, MergeShapes(batch_of(a), batch_of(b)));
  }
  CARILLON_RETURN_IF_ERROR(
      MergeDim(a.dim(a.rank() - (adj_x ? 2 : 1)), b.dim(b.rank() - (adj_y ? 1 : 2))).status());
  out.AddDim(a.dim(a.rank() - (adj_x ? 1 : 2)));
  out.AddDim(b.dim(b.rank() - (adj_y ? 2 : 1)));
  c.set_output(0, out);
  return absl::OkStatus();
}

Status TopKShape(ShapeContext& c, int64_t k) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, c.WithRankAtLeast(0, 1));
  if (shape.has_rank()) {
    const int last = shape.rank() - 1;
    if (k >= 0 && shape.dim(last) >= 0 && shape.dim(last) < k) {
      return InvalidArgument("input should have a last dimension of at least k = ", k,
                             " but has shape ", shape.ToString());
    }
    shape.set_dim(last, k);
  }
  c.set_output(0, shape);
  c.set_output(1, shape);
  return absl::OkStatus();
}

}  // namespace

Status ShapeEquality(ShapeContext& c) {
  if (c.attr<bool>("incompatible_shape_error")) return ShapeBroadcast(c);
  // Shapes that do not fit give one bool, so the broadcast shape holds only where it is certain.
  const PartialShape x = c.input(0);
  const PartialShape y = c.input(1);
  c.set_output(0, PartialShape());
  if (!x.has_rank() || !y.has_rank()) return absl::OkStatus();
  const StatusOr<PartialShape> both = BroadcastShapes(x, y);
  if (!both.ok()) {
    c.set_output(0, Shape{});
    return absl::OkStatus();
  }
  for (int i = 1; i <= std::min(x.rank(), y.rank()); ++i) {
    const int64_t a = x.dim(x.rank() - i);
    const int64_t b = y.dim(y.rank() - i);
    if (a != 1 && b != 1 && (a < 0 || b < 0)) return absl::OkStatus();
  }
  c.set_output(0, *both);
  return absl::OkStatus();
}

Status ShapeAccumulate(ShapeContext& c) {
  PartialShape shape = c.attr<PartialShape>("shape");
  for (int i = 0; i < c.num_inputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(shape, MergeShapes(shape, c.input(i)));
  }
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeReduction(ShapeContext& c) {
  const PartialShape in = c.input(0);
  const bool keep_dims = c.attr<bool>("keep_dims");
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  const Tensor* axes = c.input_value(1);
  if (axes == nullptr) {
    const PartialShape shape_of_axes = c.input(1);
    if (keep_dims) {
      c.set_output(0, PartialShape::UnknownOfRank(in.rank()));
    } else if (shape_of_axes.rank() == 0 && in.rank() > 0) {
      c.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    } else if (shape_of_axes.rank() == 1 && shape_of_axes.dim(0) >= 0 &&
               shape_of_axes.dim(0) <= in.rank()) {
      c.set_output(0,
                   PartialShape::UnknownOfRank(in.rank() - static_cast<int>(shape_of_axes.dim(0))));
    }
    return absl::OkStatus();
  }
  std::array<bool, kMaxRank> reduced{};
  for (int64_t i = 0; i < axes->num_elements(); ++i) {
    const int64_t axis =
        axes->dtype() == kInt32 ? int64_t{axes->data<int32_t>()[i]} : axes->data<int64_t>()[i];
    if (axis < -in.rank() || axis >= in.rank()) {
      return InvalidArgument("Invalid reduction dimension ", axis, " for input with ", in.rank(),
                             " dimensions");
    }
    reduced[static_cast<size_t>(axis < 0 ? axis + in.rank() : axis)] = true;
  }
  PartialShape out(Shape{});
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      out.AddDim(in.dim(i));
    } else if (keep_dims) {
      out.AddDim(1);
    }
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapeArgExtreme(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  const PartialShape in = c.input(0);
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  const std::optional<int64_t> dimension = c.input_as_int(1);
  if (!dimension.has_value()) {
    if (in.rank() > 0) c.set_output(0, PartialShape::UnknownOfRank(in.rank() - 1));
    return absl::OkStatus();
  }
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(*dimension, in.rank()));
  PartialShape out(Shape{});
  for (int i = 0; i < in.rank(); ++i) {
    if (i != axis) out.AddDim(in.dim(i));
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapeMatMul(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape a, c.WithRank(0, 2));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape b, c.WithRank(1, 2));
  const bool transpose_a = c.attr<bool>("transpose_a");
  const bool transpose_b = c.attr<bool>("transpose_b");
  CARILLON_RETURN_IF_ERROR(
      MergeDim(a.dim(transpose_a ? 0 : 1), b.dim(transpose_b ? 1 : 0)).status());
  c.set_output(0, PartialShape({a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)}));
  return absl::OkStatus();
}

Status ShapeBatchMatMul(ShapeContext& c) { return BatchMatMulShape(c, /*broadcasts=*/false); }
Status ShapeBatchMatMulV2(ShapeContext& c) { return BatchMatMulShape(c, /*broadcasts=*/true); }

Status ShapeTopK(ShapeContext& c) { return TopKShape(c, c.attr<int64_t>("k")); }

Status ShapeTopKV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t k, ScalarSize(c, 1, "k"));
  return TopKShape(c, k);
}

Status ShapeInTopK(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape predictions, c.WithRank(0, 2));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape targets, c.WithRank(1, 1));
  if (c.num_inputs() > 2) CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  CARILLON_ASSIGN_OR_RETURN(const int64_t rows, MergeDim(predictions.dim(0), targets.dim(0)));
  c.set_output(0, PartialShape({rows}));
  return absl::OkStatus();
}

Status ShapeSegment(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape data, c.WithRankAtLeast(0, 1));
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 1).status());
  c.set_output(0, WithFirstDim(data, -1));
  return absl::OkStatus();
}

Status ShapeUnsortedSegment(ShapeContext& c) {
  const PartialShape data = c.input(0);
  const PartialShape ids = c.input(1);
  CARILLON_ASSIGN_OR_RETURN(const int64_t segments, ScalarSize(c, 2, "num_segments"));
  c.set_output(0, PartialShape());
  if (!data.has_rank() || !ids.has_rank()) return absl::OkStatus();
  if (ids.rank() > data.rank()) {
    return InvalidArgument("segment_ids of shape ", ids.ToString(),
                           " have more dimensions than data of shape ", data.ToString());
  }
  for (int i = 0; i < ids.rank(); ++i) {
    if (!MergeDim(data.dim(i), ids.dim(i)).ok()) {
      return InvalidArgument("data of shape ", data.ToString(),
                             " should start with the dimensions of segment_ids, ", ids.ToString());
    }
  }
  c.set_output(0, Concatenated(PartialShape({segments}), data, ids.rank()));
  return absl::OkStatus();
}

Status ShapeSparseSegment(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape data, c.WithRankAtLeast(0, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape ids, c.WithRank(2, 1));
  CARILLON_RETURN_IF_ERROR(MergeShapes(indices, ids).status());
  int64_t segments = -1;
  if (c.num_inputs() > 3) {
    CARILLON_ASSIGN_OR_RETURN(segments, ScalarSize(c, 3, "num_segments"));
  }
  c.set_output(0, WithFirstDim(data, segments));
  return absl::OkStatus();
}

Status ShapeSparseSegmentGrad(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape grad, c.WithRankAtLeast(0, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape ids, c.WithRank(2, 1));
  CARILLON_RETURN_IF_ERROR(MergeShapes(indices, ids).status());
  CARILLON_ASSIGN_OR_RETURN(const int64_t rows, ScalarSize(c, 3, "output_dim0"));
  c.set_output(0, WithFirstDim(grad, rows));
  return absl::OkStatus();
}

// How many indices are different is not known.
Status ShapeSparseSegmentGradV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape grad, c.WithRankAtLeast(0, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape ids, c.WithRank(2, 1));
  CARILLON_RETURN_IF_ERROR(MergeShapes(indices, ids).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(3, 0).status());
  c.set_output(0, WithFirstDim(grad, -1));
  c.set_output(1, PartialShape({-1}));
  return absl::OkStatus();
}

Status ShapeBincount(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, ScalarSize(c, 1, "size"));
  c.set_output(0, PartialShape({size}));
  return absl::OkStatus();
}

// Each row of a matrix is counted for itself.
Status ShapeDenseBincount(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, ScalarSize(c, 1, "size"));
  const PartialShape input = c.input(0);
  c.set_output(0, PartialShape());
  if (!input.has_rank()) return absl::OkStatus();
  if (input.rank() > 2)
    return InvalidArgument("input must have at most 2 dimensions, not shape ", input.ToString());
  c.set_output(0, input.rank() == 2 ? PartialShape({input.dim(0), size}) : PartialShape({size}));
  return absl::OkStatus();
}

Status ShapeCross(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRankAtLeast(0, 1).status());
  CARILLON_RETURN_IF_ERROR(c.WithRankAtLeast(1, 1).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape both, MergeShapes(c.input(0), c.input(1)));
  if (both.has_rank()) {
    const int last = both.rank() - 1;
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, MergeDim(both.dim(last), 3));
    both.set_dim(last, size);
  }
  c.set_output(0, both);
  return absl::OkStatus();
}

Status ShapeHistogram(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape range, c.WithRank(1, 1));
  CARILLON_RETURN_IF_ERROR(MergeDim(range.dim(0), 2).status());
  CARILLON_ASSIGN_OR_RETURN(const int64_t bins, ScalarSize(c, 2, "nbins"));
  if (bins == 0) return InvalidArgument("nbins should be a positive number, but got '0'");
  c.set_output(0, PartialShape({bins}));
  return absl::OkStatus();
}

}  // namespace carillon
