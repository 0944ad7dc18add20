// Gradients of slices, gathers, scatters and choices.
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/array.h"
#include "graph/gradients/broadcast.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// Zeros like `value`, dead where it is.
Output Zeros(const Output& value) { return FillLike(value, 0.0); }

void SliceGradient(GradContext& c) {
  const Output begin = c.input(1);
  // Zeros before and behind the slice.
  const Output whole = ShapeOf(c.input(0), begin.dtype());
  const Output taken = ShapeOf(c.output(0), begin.dtype());
  c.set(0, Pad(c.grad(), Pack({begin, whole - taken - begin}, 1)));
}

StridedSliceOptions MasksOf(const GradContext& c) {
  const auto mask = [&](const char* name) {
    return static_cast<int>(c.op().node()->attr<int64_t>(name));
  };
  return {.begin_mask = mask("begin_mask"),
          .end_mask = mask("end_mask"),
          .ellipsis_mask = mask("ellipsis_mask"),
          .new_axis_mask = mask("new_axis_mask"),
          .shrink_axis_mask = mask("shrink_axis_mask")};
}

void StridedSliceGradient(GradContext& c) {
  Output indices[3] = {c.input(1), c.input(2), c.input(3)};
  for (Output& index : indices) {
    if (index.dtype() == DType::kInt16) index = Cast(index, kInt32);
  }
  c.set(0, StridedSliceGrad(ShapeOf(c.input(0), indices[0].dtype()), indices[0], indices[1],
                            indices[2], c.grad(), MasksOf(c)));
}

void StridedSliceGradGradient(GradContext& c) {
  c.set(4, StridedSlice(c.grad(), c.input(1), c.input(2), c.input(3), MasksOf(c)));
}

void TensorStridedSliceUpdateGradient(GradContext& c) {
  const Output begin = c.input(1), end = c.input(2), strides = c.input(3), value = c.input(4);
  c.set(0, TensorStridedSliceUpdate(c.grad(), begin, end, strides, Zeros(value), MasksOf(c)));
  const Output slice = StridedSlice(c.grad(), begin, end, strides, MasksOf(c));
  c.set(4, SumToShapeOf(slice, value));
}

// Sizes [begin, end) of a vector of sizes; an invalid `end` stands for all that are left.
Output SizesBetween(const Output& sizes, const Input& begin, const Input& end) {
  return StridedSlice(sizes, begin, end.valid() ? end : Input({0}), {1},
                      {.end_mask = end.valid() ? 0 : 1});
}

// Rows of the first dimension, as slices: the gradient is as small as what was gathered.
void GatherRowsGradient(GradContext& c) {
  const Output params = c.input(0);
  const Output indices = c.input(1);
  const Output shape = ShapeOf(params);
  const Output count = Reshape(Size(indices), {1});
  const Output values_shape = Concat({count, SizesBetween(shape, {1}, Input())}, 0);
  Output flat = Reshape(indices, {-1});
  if (flat.dtype() == DType::kInt16) flat = Cast(flat, kInt32);
  c.set(0, IndexedSlices{Reshape(c.grad(), values_shape), flat, shape});
}

// Along another dimension. With params [batch, outer, size, inner] and indices [batch, count] what
// arrives is [batch, outer, count, inner]; its slices are summed by index within each batch.
void GatherAlongGradient(GradContext& c, int64_t batch_dims) {
  const Output params = c.input(0);
  const Output shape = ShapeOf(params);
  Output indices = c.input(1);
  indices = indices.dtype() == kInt32 ? indices : Cast(indices, kInt32);
  const Output axis = FloorMod(Cast(c.input(2), kInt32), Rank(params));
  const Output at = Reshape(axis, {1});
  const Output after = Reshape(axis + 1, {1});
  const Input first = Tensor::FromVector<int32_t>({static_cast<int32_t>(batch_dims)});

  const Output batch = Prod(SizesBetween(shape, {0}, first), 0);
  const Output outer = Prod(SizesBetween(shape, first, at), 0);
  const Output size = Prod(SizesBetween(shape, at, after), 0);
  const Output inner = Prod(SizesBetween(shape, after, Input()), 0);
  const Output count = Prod(SizesBetween(ShapeOf(indices), first, Input()), 0);

  const Output grad =
      Transpose(Reshape(c.grad(), Pack({batch, outer, count, inner})), {0, 2, 1, 3});
  const Output rows = Reshape(grad, Pack({batch * count, outer * inner}));
  // Each batch has places of its own.
  const Output offsets = ExpandDims(Range(c.graph(), 0, batch) * size, 1);
  const Output places = Reshape(Reshape(indices, Pack({batch, count})) + offsets, {-1});
  const Output sums = UnsortedSegmentSum(rows, places, batch * size);
  const Output back = Transpose(Reshape(sums, Pack({batch, size, outer, inner})), {0, 2, 1, 3});
  c.set(0, Reshape(back, shape));
}

void GatherV2Gradient(GradContext& c) {
  int64_t batch_dims = c.op().node()->attr<int64_t>("batch_dims");
  const PartialShape indices = c.input(1).shape();
  if (batch_dims < 0 && indices.has_rank()) batch_dims += indices.rank();
  const Node* axis = c.input(2).node();
  if (batch_dims == 0 && axis->op() == "Const") {
    const Tensor& value = axis->attr<Tensor>("value");
    const int64_t given =
        value.dtype() == kInt64 ? value.scalar<int64_t>() : value.scalar<int32_t>();
    if (given == 0) return GatherRowsGradient(c);
  }
  GatherAlongGradient(c, batch_dims);
}

Output AsIndex(const Output& indices) {
  return indices.dtype() == kInt64 ? indices : Cast(indices, kInt32);
}

void GatherNdGradient(GradContext& c) {
  const Output params = c.input(0);
  const Output indices = AsIndex(c.input(1));
  const PartialShape shape = indices.shape();
  if (shape.rank() == 2 && shape.dim(1) == 1) {
    c.set(0, IndexedSlices{c.grad(), Squeeze(indices, {-1}), ShapeOf(params)});
  } else {
    c.set(0, ScatterNd(indices, c.grad(), ShapeOf(params, indices.dtype())));
  }
}

void ScatterNdGradient(GradContext& c) { c.set(1, GatherNd(c.grad(), c.input(0))); }

void TensorScatterUpdateGradient(GradContext& c) {
  c.set(0, TensorScatterUpdate(c.grad(), c.input(1), Zeros(c.input(2))));
  c.set(2, GatherNd(c.grad(), c.input(1)));
}
void TensorScatterAddGradient(GradContext& c) {
  c.set(0, c.grad());
  c.set(2, GatherNd(c.grad(), c.input(1)));
}
void TensorScatterSubGradient(GradContext& c) {
  c.set(0, c.grad());
  c.set(2, -GatherNd(c.grad(), c.input(1)));
}

void SparseToDenseGradient(GradContext& c) {
  const Output indices = c.input(0);
  // One row an index, whatever the rank of the indices: as many columns as the result has
  // dimensions.
  const Output rows = Reshape(indices, Concat({Const(c.graph(), {-1}), ShapeOf(c.input(1))}, 0));
  const Output values = GatherNd(c.grad(), rows);
  c.set(2, SumToShapeOf(values, c.input(2)));
  c.set(3, Sum(c.grad()) - Sum(values));
}

void SelectGradient(GradContext& c) {
  const Output condition = c.input(0);
  const Output zeros = Zeros(c.input(1));
  c.set(1, Select(condition, c.grad(), zeros));
  c.set(2, Select(condition, zeros, c.grad()));
}

void SelectV2Gradient(GradContext& c) {
  const Output condition = c.input(0);
  const Output zeros = Zeros(c.output(0));
  c.set(1, SumToShapeOf(SelectV2(condition, c.grad(), zeros), c.input(1)));
  c.set(2, SumToShapeOf(SelectV2(condition, zeros, c.grad()), c.input(2)));
}

}  // namespace

void AddArrayIndexGradients(GradTable& grads) {
  grads.Add("Slice", SliceGradient);
  grads.Add("StridedSlice", StridedSliceGradient);
  grads.Add("StridedSliceGrad", StridedSliceGradGradient);
  grads.Add("TensorStridedSliceUpdate", TensorStridedSliceUpdateGradient);
  grads.Add("Gather", GatherRowsGradient);
  grads.Add("GatherV2", GatherV2Gradient);
  grads.Add("GatherNd", GatherNdGradient);
  grads.Add("ScatterNd", ScatterNdGradient);
  grads.Add("TensorScatterUpdate", TensorScatterUpdateGradient);
  grads.Add("TensorScatterAdd", TensorScatterAddGradient);
  grads.Add("TensorScatterSub", TensorScatterSubGradient);
  grads.Add("SparseToDense", SparseToDenseGradient);
  grads.Add("Select", SelectGradient);
  grads.Add("SelectV2", SelectV2Gradient);
}

}  // namespace carillon
