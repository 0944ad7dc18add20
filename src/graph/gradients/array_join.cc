// Gradients of ops that join tensors and take them apart.
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/array.h"
#include "graph/gradients/broadcast.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

std::vector<Output> AllGrads(const GradContext& c) {
  std::vector<Output> grads;
  for (int i = 0; i < c.num_outputs(); ++i) grads.push_back(c.grad(i));
  return grads;
}

void PackGradient(GradContext& c) {
  const int axis = static_cast<int>(c.op().node()->attr<int64_t>("axis"));
  const std::vector<Output> parts = Unpack(c.grad(), c.num_inputs(), axis);
  for (int i = 0; i < c.num_inputs(); ++i) c.set(i, parts[static_cast<size_t>(i)]);
}

void UnpackGradient(GradContext& c) {
  const int axis = static_cast<int>(c.op().node()->attr<int64_t>("axis"));
  c.set(0, Pack(AllGrads(c), axis));
}

// The sizes of `values` along a constant axis; empty when one is not known.
std::vector<int64_t> SizesAlong(const std::vector<Output>& values, const Output& axis) {
  std::vector<int64_t> sizes;
  const Node* node = axis.node();
  if (node->op() != "Const") return sizes;
  const Tensor& constant = node->attr<Tensor>("value");
  int64_t along =
      constant.dtype() == kInt64 ? constant.scalar<int64_t>() : constant.scalar<int32_t>();
  for (const Output& value : values) {
    const PartialShape shape = value.shape();
    if (!shape.has_rank()) return {};
    if (along < 0) along += shape.rank();
    const int64_t size = shape.dim(static_cast<int>(along));
    if (size < 0) return {};
    sizes.push_back(size);
  }
  return sizes;
}

// Values are the inputs [first, first + count).
void JoinGradient(GradContext& c, int first, int count, const Output& axis) {
  std::vector<Output> values;
  for (int i = 0; i < count; ++i) values.push_back(c.input(first + i));
  const std::vector<int64_t> sizes = SizesAlong(values, axis);
  std::vector<Output> parts;
  if (!sizes.empty()) {
    const Output narrow = axis.dtype() == kInt32 ? axis : Cast(axis, kInt32);
    parts = SplitV(c.grad(), Tensor::FromVector(sizes), narrow, count);
  } else {
    const std::vector<Output> shapes = ShapeN(values);
    const Output narrow = axis.dtype() == kInt32 ? axis : Cast(axis, kInt32);
    const std::vector<Output> offsets = ConcatOffset(narrow, shapes);
    for (size_t i = 0; i < values.size(); ++i)
      parts.push_back(Slice(c.grad(), offsets[i], shapes[i]));
  }
  for (int i = 0; i < count; ++i) c.set(first + i, parts[static_cast<size_t>(i)]);
}

void ConcatGradient(GradContext& c) { JoinGradient(c, 1, c.num_inputs() - 1, c.input(0)); }

void ConcatV2Gradient(GradContext& c) {
  const int count = c.num_inputs() - 1;
  JoinGradient(c, 0, count, c.input(count));
}

// One part alone needs no joining.
Output Joined(const GradContext& c, const Output& axis) {
  const std::vector<Output> grads = AllGrads(c);
  return grads.size() == 1 ? grads.front() : Concat(grads, axis);
}

void SplitGradient(GradContext& c) { c.set(1, Joined(c, c.input(0))); }
void SplitVGradient(GradContext& c) { c.set(0, Joined(c, c.input(2))); }

void DynamicPartitionGradient(GradContext& c) {
  const Output partitions = c.input(1);
  // Where each row went, partitioned as the rows were, tells where its gradient comes back to.
  const Output places = Reshape(Range(c.graph(), 0, Size(partitions)), ShapeOf(partitions));
  const std::vector<Output> came_from = DynamicPartition(places, partitions, c.num_outputs());
  c.set(0, Reshape(DynamicStitch(came_from, AllGrads(c)), ShapeOf(c.input(0))));
}

void DynamicStitchGradient(GradContext& c) {
  const int count = c.num_inputs() / 2;
  for (int i = 0; i < count; ++i) c.set(count + i, Gather(c.grad(), c.input(i)));
}

}  // namespace

void AddArrayJoinGradients(GradTable& grads) {
  grads.Add("Pack", PackGradient);
  grads.Add("Unpack", UnpackGradient);
  grads.Add("Concat", ConcatGradient);
  grads.Add("ConcatV2", ConcatV2Gradient);
  grads.Add("Split", SplitGradient);
  grads.Add("SplitV", SplitVGradient);
  grads.Add("DynamicPartition", DynamicPartitionGradient);
  grads.Add("DynamicStitch", DynamicStitchGradient);
  grads.Add("ParallelDynamicStitch", DynamicStitchGradient);
}

}  // namespace carillon
