// Gradients of the ops on variables. Random numbers have none.
#include "carillon/ops/state.h"

#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradient.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// ReadVariableOp, RefIdentity: what arrives at the value arrives at the variable.
void PassOn(GradContext& c) { c.set(0, c.raw_grad(0)); }

// Elements `begin` … `end` of a vector of sizes; without `end`, all that are left.
Output SizesFrom(const Output& sizes, int begin) {
  return StridedSlice(sizes, {begin}, {0}, {1}, {.end_mask = 1});
}
Output SizesBetween(const Output& sizes, int begin, int end) {
  return StridedSlice(sizes, {begin}, {end}, {1});
}

// Each row of the gradient belongs to the row of the variable that its index names: slices, unless
// there are batches, whose rows are numbered through and summed up.
void ResourceGatherGradient(GradContext& c) {
  const Output indices = c.input(1);
  const auto batch_dims = static_cast<int>(c.op().node()->attr<int64_t>("batch_dims"));
  const Output shape = VariableShape(c.input(0));
  const Output count = Reshape(Size(indices), {1});
  const Output values = Reshape(c.grad(), Concat({count, SizesFrom(shape, batch_dims + 1)}, 0));
  if (batch_dims == 0) {
    c.set(0, IndexedSlices{values, Reshape(indices, {-1}), shape});
    return;
  }
  const Output batches = Prod(SizesBetween(shape, 0, batch_dims), 0);
  const Output rows = Prod(SizesBetween(shape, batch_dims, batch_dims + 1), 0);
  const Output per_batch = Prod(SizesFrom(ShapeOf(indices), batch_dims), 0);
  const Output starts = ExpandDims(Range(c.graph(), 0, batches) * rows, 1);
  const Output numbered = Reshape(Cast(indices, kInt32), Pack({batches, per_batch})) + starts;
  const Output sums = UnsortedSegmentSum(values, Reshape(numbered, {-1}), batches * rows);
  c.set(0, Reshape(sums, shape));
}

void ResourceGatherNdGradient(GradContext& c) {
  const Output indices = c.input(1);
  const Output shape = VariableShape(c.input(0), indices.dtype());
  const PartialShape known = indices.shape();
  if (known.rank() == 2 && known.dim(1) == 1) {
    c.set(0, IndexedSlices{c.grad(), Reshape(indices, {-1}), shape});
  } else {
    c.set(0, ScatterNd(indices, c.grad(), shape));
  }
}

}  // namespace

void AddStateGradients(GradTable& grads) {
  grads.Add("ReadVariableOp", PassOn);
  grads.Add("RefIdentity", PassOn);
  grads.Add("ResourceGather", ResourceGatherGradient);
  grads.Add("ResourceGatherNd", ResourceGatherNdGradient);
  grads.AddNone({"Assign", "AssignAdd", "AssignSub", "ScatterAdd", "ScatterSub", "ScatterMul",
                 "ScatterDiv", "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub",
                 "VarIsInitializedOp", "IsVariableInitialized", "VariableShape", "CountUpTo",
                 "ResourceCountUpTo", "Stack", "StackPush", "StackPop", "StackClose"});
  grads.AddNone({"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal",
                 "ParameterizedTruncatedNormal", "RandomShuffle", "Multinomial",
                 "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal",
                 "StatelessRandomUniformInt", "StatelessRandomUniformFullInt",
                 "StatelessRandomUniformV2", "StatelessRandomNormalV2",
                 "StatelessTruncatedNormalV2", "StatelessRandomUniformIntV2",
                 "StatelessRandomUniformFullIntV2", "StatelessMultinomial"});
}

}  // namespace carillon
