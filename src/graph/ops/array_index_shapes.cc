#include <algorithm>

#include "graph/ops/array_rules.h"
#include "graph/ops/array_shapes.h"

namespace carillon {
namespace {

void Append(Dims& dims, const PartialShape& shape, int begin, int end) {
  for (int i = begin; i < end; ++i) dims.push_back(shape.dim(i));
}

// begin, end and strides are inputs `first` to `first` + 2.
Status StridedSliceOf(ShapeContext& c, const PartialShape& in, int first) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape length, c.WithRank(first, 1));
  for (int i = first + 1; i < first + 3; ++i) {
    CARILLON_ASSIGN_OR_RETURN(const PartialShape other, c.WithRank(i, 1));
    CARILLON_ASSIGN_OR_RETURN(length, MergeShapes(length, other));
  }
  c.set_output(0, PartialShape());
  // Without known strides not even the direction of a range is known.
  const std::optional<Dims> strides = InputInts(c, first + 2);
  if (!in.has_rank() || !strides.has_value() ||
      std::ranges::find(*strides, kUnknownIndex) != strides->end()) {
    return absl::OkStatus();
  }
  const Dims unknown(strides->size(), kUnknownIndex);
  const std::optional<Dims> begin = InputInts(c, first);
  const std::optional<Dims> end = InputInts(c, first + 1);
  CARILLON_ASSIGN_OR_RETURN(const StridedSlicePlan plan,
                            PlanStridedSlice(in, begin.value_or(unknown), end.value_or(unknown),
                                             *strides, StridedSliceMasks(c.node())));
  c.set_output(0, plan.result);
  return absl::OkStatus();
}

// indices [rows…, depth] and updates [rows…, slice…] must fit `target`, as far as all is known.
Status CheckScatter(const PartialShape& indices, const PartialShape& updates,
                    const PartialShape& target) {
  if (indices.rank() == 0 || updates.rank() == 0 || target.rank() == 0) {
    return InvalidArgument("indices, updates and the result should not be scalars but have shapes ",
                           indices.ToString(), ", ", updates.ToString(), " and ",
                           target.ToString());
  }
  if (indices.rank() < 2 || !updates.has_rank()) return absl::OkStatus();
  const int outer = indices.rank() - 1;
  const int64_t depth = indices.dim(outer);
  bool fits = updates.rank() >= outer;
  for (int i = 0; fits && i < outer; ++i) fits = MergeDim(indices.dim(i), updates.dim(i)).ok();
  if (fits && depth >= 0 && target.has_rank()) {
    fits = depth <= target.rank() && updates.rank() == outer + target.rank() - depth;
    for (int i = outer; fits && i < updates.rank(); ++i)
      fits = MergeDim(updates.dim(i), target.dim(i - outer + static_cast<int>(depth))).ok();
  }
  if (fits) return absl::OkStatus();
  return InvalidArgument("indices of shape ", indices.ToString(), " and updates of shape ",
                         updates.ToString(), " do not fit a tensor of shape ", target.ToString());
}

}  // namespace

Status ShapeSlice(ShapeContext& c) {
  PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape begin_shape, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape size_shape, c.WithRank(2, 1));
  CARILLON_ASSIGN_OR_RETURN(PartialShape length, MergeShapes(begin_shape, size_shape));
  if (in.has_rank()) {
    CARILLON_ASSIGN_OR_RETURN(length, MergeShapes(length, PartialShape{in.rank()}));
  }
  c.set_output(0, PartialShape());
  if (length.dim(0) < 0) return absl::OkStatus();
  const Dims unknown(static_cast<size_t>(std::min<int64_t>(length.dim(0), kMaxRank + 1)), -1);
  if (!in.has_rank()) {
    CARILLON_ASSIGN_OR_RETURN(in, MakePartialShape(unknown));
  }
  const std::optional<Dims> begin = InputInts(c, 1);
  const std::optional<Dims> size = InputInts(c, 2);
  const bool sizes_are_exact = c.input_value(2) != nullptr;
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  for (int i = 0; i < in.rank(); ++i) {
    const size_t k = static_cast<size_t>(i);
    const int64_t whole = in.dim(i);
    const int64_t from = begin.has_value() ? (*begin)[k] : kUnknownIndex;
    const int64_t wanted = size.has_value() ? (*size)[k] : kUnknownIndex;
    if (from != kUnknownIndex && (from < 0 || (whole >= 0 && from > whole))) {
      return InvalidArgument("begin[", i, "] = ", from, " is out of range of shape ",
                             in.ToString());
    }
    if (wanted == kUnknownIndex) continue;
    if (wanted < -1) return InvalidArgument("size[", i, "] should be -1 or more but is ", wanted);
    if (wanted >= 0) {
      if (whole >= 0 && wanted > whole - (from == kUnknownIndex ? 0 : from)) {
        return InvalidArgument("size[", i, "] = ", wanted, " is more than there is of shape ",
                               in.ToString());
      }
      out.set_dim(i, wanted);
    } else if (sizes_are_exact && whole >= 0 && from != kUnknownIndex) {
      out.set_dim(i, whole - from);
    } else if (sizes_are_exact && whole == 0) {
      out.set_dim(i, 0);
    }
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapeStridedSlice(ShapeContext& c) { return StridedSliceOf(c, c.input(0), 1); }

Status ShapeStridedSliceGrad(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, SizesFromInput(c, 0, "shape"));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeGather(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape params, c.WithRankAtLeast(0, 1));
  const PartialShape indices = c.input(1);
  c.set_output(0, PartialShape());
  if (!params.has_rank() || !indices.has_rank()) return absl::OkStatus();
  Dims dims(indices.dims().begin(), indices.dims().end());
  Append(dims, params, 1, params.rank());
  return SetDims(c, dims);
}

Status ShapeGatherV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape params, c.WithRankAtLeast(0, 1));
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  const PartialShape indices = c.input(1);
  int64_t batch_dims = c.attr<int64_t>("batch_dims");
  c.set_output(0, PartialShape());
  if (!indices.has_rank()) return absl::OkStatus();
  if (batch_dims < -indices.rank() || batch_dims > indices.rank()) {
    return InvalidArgument("batch_dims should be in [", -indices.rank(), ", ", indices.rank(),
                           "], as indices have that rank, but is ", batch_dims);
  }
  if (batch_dims < 0) batch_dims += indices.rank();
  if (!params.has_rank()) return absl::OkStatus();
  const std::optional<int64_t> given = InputInt(c, 2);
  if (!given.has_value()) {
    const int64_t rank = params.rank() - 1 + indices.rank() - batch_dims;
    if (rank >= 0) return SetDims(c, Dims(static_cast<size_t>(rank), -1));
    return absl::OkStatus();
  }
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(*given, params.rank()));
  if (batch_dims > axis) {
    return InvalidArgument("batch_dims (", batch_dims, ") should be at most axis (", axis, ")");
  }
  Dims dims;
  Append(dims, params, 0, axis);
  for (int i = 0; i < batch_dims; ++i) {
    CARILLON_ASSIGN_OR_RETURN(dims[static_cast<size_t>(i)],
                              MergeDim(params.dim(i), indices.dim(i)));
  }
  Append(dims, indices, static_cast<int>(batch_dims), indices.rank());
  Append(dims, params, axis + 1, params.rank());
  return SetDims(c, dims);
}

Status ShapeGatherNd(ShapeContext& c) {
  const PartialShape params = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRankAtLeast(1, 1));
  c.set_output(0, PartialShape());
  if (!params.has_rank() || !indices.has_rank()) return absl::OkStatus();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return absl::OkStatus();
  if (depth > params.rank()) {
    return InvalidArgument("the last dimension of indices, of shape ", indices.ToString(),
                           ", should be at most ", params.rank(), ", the rank of params");
  }
  Dims dims;
  Append(dims, indices, 0, indices.rank() - 1);
  Append(dims, params, static_cast<int>(depth), params.rank());
  return SetDims(c, dims);
}

Status ShapeScatterNd(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, SizesFromInput(c, 2, "shape"));
  CARILLON_RETURN_IF_ERROR(CheckScatter(c.input(0), c.input(1), shape));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeTensorScatter(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckScatter(c.input(1), c.input(2), c.input(0)));
  return ShapeOfInput(c);
}

Status ShapeSparseToDense(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, SizesFromInput(c, 1, "output_shape"));
  if (c.input(0).rank() > 2) {
    return InvalidArgument("sparse_indices should be a scalar, vector or matrix but have shape ",
                           c.input(0).ToString());
  }
  CARILLON_RETURN_IF_ERROR(c.WithRank(3, 0).status());
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeWhere(ShapeContext& c) {
  c.set_output(0, PartialShape{-1, c.input(0).rank()});
  return absl::OkStatus();
}

Status ShapeSelect(ShapeContext& c) {
  const PartialShape condition = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(PartialShape values, MergeShapes(c.input(1), c.input(2)));
  c.set_output(0, values);
  if (!condition.has_rank() || !values.has_rank() || condition.rank() == 0) return absl::OkStatus();
  if (condition.rank() == 1 && values.rank() > 0) {
    CARILLON_ASSIGN_OR_RETURN(const int64_t rows, MergeDim(values.dim(0), condition.dim(0)));
    values.set_dim(0, rows);
  } else {
    CARILLON_ASSIGN_OR_RETURN(values, MergeShapes(condition, values));
  }
  c.set_output(0, values);
  return absl::OkStatus();
}

Status ShapeSelectV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape values, BroadcastShapes(c.input(1), c.input(2)));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, BroadcastShapes(c.input(0), values));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeReverse(ShapeContext& c) {
  const PartialShape in = c.input(0);
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 1).status());
  c.set_output(0, in);
  const std::optional<Dims> axes = InputInts(c, 1);
  if (!axes.has_value() || !in.has_rank() || in.rank() == 0) return absl::OkStatus();
  std::array<bool, kMaxRank> seen{};
  for (const int64_t given : *axes) {
    if (given == kUnknownIndex) continue;
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(given, in.rank()));
    if (std::exchange(seen[static_cast<size_t>(axis)], true))
      return InvalidArgument("axis ", axis, " is given twice");
  }
  return absl::OkStatus();
}

Status ShapeReverseSequence(ShapeContext& c) {
  PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape lengths, c.WithRank(1, 1));
  const int64_t seq_dim = c.attr<int64_t>("seq_dim");
  const int64_t batch_dim = c.attr<int64_t>("batch_dim");
  if (in.has_rank()) {
    if (seq_dim < 0 || seq_dim >= in.rank() || batch_dim < 0 || batch_dim >= in.rank() ||
        seq_dim == batch_dim) {
      return InvalidArgument("seq_dim ", seq_dim, " and batch_dim ", batch_dim,
                             " should be two different dimensions of the input of shape ",
                             in.ToString());
    }
    const int batch = static_cast<int>(batch_dim);
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, MergeDim(in.dim(batch), lengths.dim(0)));
    in.set_dim(batch, size);
  }
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapeRoll(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRankAtLeast(0, 1));
  if (c.input(1).rank() > 1 || c.input(2).rank() > 1) {
    return InvalidArgument("shift and axis should be scalars or vectors but have shapes ",
                           c.input(1).ToString(), " and ", c.input(2).ToString());
  }
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapeInvertPermutation(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, c.WithRank(0, 1));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeListDiff(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 1).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 1).status());
  c.set_output(0, PartialShape{-1});
  c.set_output(1, PartialShape{-1});
  return absl::OkStatus();
}

Status ShapeUnique(ShapeContext& c) {
  const PartialShape in = c.input(0);
  std::optional<int64_t> axis = 0;
  bool has_axis = false;
  if (c.num_inputs() > 1) {
    CARILLON_ASSIGN_OR_RETURN(const PartialShape axes, c.WithRank(1, 1));
    if (axes.dim(0) > 1) {
      return InvalidArgument("axis should have at most one element but has shape ",
                             axes.ToString());
    }
    has_axis = axes.dim(0) != 0;
    if (has_axis) axis = axes.dim(0) == 1 ? InputInt(c, 1) : std::nullopt;
  }
  PartialShape y;
  int64_t count = -1;
  if (in.has_rank() && !has_axis && in.rank() != 1) {
    return InvalidArgument("without an axis x should be a vector but it has shape ", in.ToString());
  }
  if (!has_axis) {
    y = PartialShape{-1};
    count = in.has_rank() ? in.dim(0) : -1;
  } else if (in.has_rank() && axis.has_value()) {
    CARILLON_ASSIGN_OR_RETURN(const int resolved, ResolveAxis(*axis, in.rank()));
    y = in;
    count = in.dim(resolved);
    y.set_dim(resolved, -1);
  } else if (in.has_rank()) {
    y = PartialShape::UnknownOfRank(in.rank());
  }
  c.set_output(0, y);
  c.set_output(1, PartialShape{count});
  if (c.num_outputs() > 2) c.set_output(2, PartialShape{-1});
  return absl::OkStatus();
}

Status ShapeDynamicPartition(ShapeContext& c) {
  const PartialShape data = c.input(0);
  const PartialShape partitions = c.input(1);
  PartialShape out;
  if (data.has_rank() && partitions.has_rank()) {
    bool fits = partitions.rank() <= data.rank();
    for (int i = 0; fits && i < partitions.rank(); ++i)
      fits = MergeDim(data.dim(i), partitions.dim(i)).ok();
    if (!fits) {
      return InvalidArgument("the shape of data, ", data.ToString(),
                             ", should start with that of partitions, ", partitions.ToString());
    }
    Dims dims{-1};
    Append(dims, data, partitions.rank(), data.rank());
    CARILLON_ASSIGN_OR_RETURN(out, MakePartialShape(dims));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return absl::OkStatus();
}

Status ShapeDynamicStitch(ShapeContext& c) {
  const int count = c.num_inputs() / 2;
  int64_t greatest = -1;
  bool all_constant = true;
  PartialShape slice;
  for (int n = 0; n < count; ++n) {
    const PartialShape indices = c.input(n);
    const PartialShape data = c.input(count + n);
    const Tensor* value = c.input_value(n);
    all_constant &= value != nullptr;
    if (value != nullptr) {
      for (const int32_t index : value->values<int32_t>())
        greatest = std::max<int64_t>(greatest, index);
    }
    if (!indices.has_rank() || !data.has_rank()) continue;
    bool fits = indices.rank() <= data.rank();
    for (int i = 0; fits && i < indices.rank(); ++i)
      fits = MergeDim(indices.dim(i), data.dim(i)).ok();
    if (!fits) {
      return InvalidArgument("the shape of data[", n, "], ", data.ToString(),
                             ", should start with that of indices[", n, "], ", indices.ToString());
    }
    const PartialShape rest(data.dims().subspan(static_cast<size_t>(indices.rank())));
    CARILLON_ASSIGN_OR_RETURN(slice, MergeShapes(slice, rest));
  }
  c.set_output(0, PartialShape());
  if (!slice.has_rank()) return absl::OkStatus();
  Dims dims{all_constant ? greatest + 1 : -1};
  Append(dims, slice, 0, slice.rank());
  return SetDims(c, dims);
}

Status ShapeDenseSets(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape first, c.WithRankAtLeast(0, 2));
  CARILLON_ASSIGN_OR_RETURN(PartialShape second, c.WithRankAtLeast(1, 2));
  for (PartialShape* shape : {&first, &second}) {
    if (shape->has_rank()) shape->set_dim(shape->rank() - 1, -1);
  }
  CARILLON_ASSIGN_OR_RETURN(const PartialShape groups, MergeShapes(first, second));
  c.set_output(0, PartialShape{-1, groups.rank()});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{groups.rank()});
  return absl::OkStatus();
}

Status ShapeBound(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape sorted, c.WithRank(0, 2));
  CARILLON_ASSIGN_OR_RETURN(PartialShape values, c.WithRank(1, 2));
  CARILLON_ASSIGN_OR_RETURN(const int64_t rows, MergeDim(sorted.dim(0), values.dim(0)));
  values.set_dim(0, rows);
  c.set_output(0, values);
  return absl::OkStatus();
}

}  // namespace carillon
