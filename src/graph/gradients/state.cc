// Gradients of the ops on variables. Random numbers have none.
#include "carillon/ops/state.h"

#include "carillon/op_builder.h"
#include "graph/gradient.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// ReadVariableOp, RefIdentity: what arrives at the value arrives at the variable.
void PassOn(GradContext& c) { c.set(0, c.raw_grad(0)); }

Output Vector(Graph& g, std::vector<int32_t> values, DType dtype) {
  const Tensor value = Tensor::FromVector(values);
  Output vector = OpBuilder(g, "Const").Attr("value", value).Attr("dtype", kInt32);
  if (dtype == kInt32) return vector;
  return OpBuilder("Cast").Arg(vector).Attr("DstT", dtype);
}

Output Reshape(const Output& x, const Output& shape) {
  return OpBuilder("Reshape").Arg(x).Arg(shape);
}

Output Concat(const std::vector<Output>& parts) { return OpBuilder("ConcatV2").Args(parts).Arg(0); }

// Elements begin … of a vector; `size` -1: to its end.
Output Part(const Output& vector, int begin, int size) {
  Graph& g = vector.graph();
  const DType dtype = vector.dtype();
  return OpBuilder("Slice")
      .Arg(vector)
      .Arg(Vector(g, {begin}, dtype))
      .Arg(Vector(g, {size}, dtype));
}

// Each row of the gradient belongs to the row of the variable that its index names: slices, unless
// there are batches, whose rows are numbered through and summed up.
void ResourceGatherGrad(GradContext& c) {
  Graph& g = c.graph();
  const Output variable = c.input(0), indices = c.input(1);
  const auto batch_dims = static_cast<int>(c.op().node()->attr<int64_t>("batch_dims"));
  const DType index = indices.dtype();
  const Output shape = VariableShape(variable, index);
  const Output rest = Vector(g, {-1}, index);
  const Output values = Reshape(c.grad(), Concat({rest, Part(shape, batch_dims + 1, -1)}));
  if (batch_dims == 0) {
    c.set(0, IndexedSlices{values, Reshape(indices, rest), shape});
    return;
  }
  const Output all_axes = Vector(g, {0}, kInt32);
  const Output batches = OpBuilder("Prod").Arg(Part(shape, 0, batch_dims)).Arg(all_axes);
  const Output rows = Reshape(Part(shape, batch_dims, 1), Vector(g, {}, kInt32));
  const Output zero = Reshape(Vector(g, {0}, index), Vector(g, {}, kInt32));
  const Output one = Reshape(Vector(g, {1}, index), Vector(g, {}, kInt32));
  const Output count = OpBuilder("Range").Arg(zero).Arg(batches).Arg(one);
  const Output starts = OpBuilder("Mul").Arg(count).Arg(rows);
  const Output by_batch =
      Reshape(indices, Concat({Reshape(batches, Vector(g, {1}, kInt32)), rest}));
  const Output numbered =
      OpBuilder("AddV2").Arg(by_batch).Arg(Reshape(starts, Vector(g, {-1, 1}, kInt32)));
  const Output total = OpBuilder("Mul").Arg(batches).Arg(rows);
  const Output sums =
      OpBuilder("UnsortedSegmentSum").Arg(values).Arg(Reshape(numbered, rest)).Arg(total);
  c.set(0, Output(Reshape(sums, shape)));
}

void ResourceGatherNdGrad(GradContext& c) {
  const Output variable = c.input(0), indices = c.input(1);
  const Output shape = VariableShape(variable, indices.dtype());
  const PartialShape known = indices.shape();
  if (known.rank() == 2 && known.dim(1) == 1) {
    const Output rows = Reshape(indices, Vector(c.graph(), {-1}, kInt32));
    c.set(0, IndexedSlices{c.grad(), rows, shape});
    return;
  }
  c.set(0, Output(OpBuilder("ScatterNd").Arg(indices).Arg(c.grad()).Arg(shape)));
}

}  // namespace

void AddStateGradients(GradTable& grads) {
  grads.Add("ReadVariableOp", PassOn);
  grads.Add("RefIdentity", PassOn);
  grads.Add("ResourceGather", ResourceGatherGrad);
  grads.Add("ResourceGatherNd", ResourceGatherNdGrad);
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
