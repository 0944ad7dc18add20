#include "graph/gradients/broadcast.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

Output IntConstant(Graph& graph, const std::vector<int32_t>& values) {
  return Const(graph, Tensor::FromVector(values));
}

std::vector<int32_t> AsInts(const PartialShape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

// `gradient`, of the broadcast shape, summed to the shape of an operand; both are known.
Output SumTo(const Output& gradient, const PartialShape& operand, const PartialShape& whole) {
  if (operand == whole) return gradient;
  std::vector<int32_t> axes;
  const int missing = whole.rank() - operand.rank();
  for (int i = 0; i < whole.rank(); ++i) {
    if (i < missing || (operand.dim(i - missing) == 1 && whole.dim(i) != 1)) axes.push_back(i);
  }
  Graph& graph = gradient.graph();
  const Output sum = Sum(gradient, IntConstant(graph, axes));
  if (sum.shape() == operand) return sum;
  return Reshape(sum, IntConstant(graph, AsInts(operand)));
}

std::optional<PartialShape> KnownBroadcast(const PartialShape& a, const PartialShape& b) {
  if (!a.IsFullyKnown() || !b.IsFullyKnown()) return std::nullopt;
  const int rank = std::max(a.rank(), b.rank());
  PartialShape whole = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int ai = i - (rank - a.rank());
    const int bi = i - (rank - b.rank());
    const int64_t x = ai < 0 ? 1 : a.dim(ai);
    whole.set_dim(i, x == 1 && bi >= 0 ? b.dim(bi) : x);
  }
  return whole;
}

}  // namespace

Output ShapeOf(const Output& x) {
  if (x.shape().IsFullyKnown()) return IntConstant(x.graph(), AsInts(x.shape()));
  return ShapeOf(Input(x));
}

Output SumToShapeOf(const Output& gradient, const Output& x) {
  if (gradient.shape().IsFullyKnown() && x.shape().IsFullyKnown()) {
    return SumTo(gradient, x.shape(), gradient.shape());
  }
  const Output shape = ShapeOf(x);
  const Output axes = BroadcastGradientArgs(shape, ShapeOf(gradient)).r0;
  return Reshape(Sum(gradient, axes), shape);
}

void SetBroadcastGradients(GradContext& context, const Output& gx, const Output& gy) {
  const Output x = context.input(0);
  const Output y = context.input(1);
  if (const auto whole = KnownBroadcast(x.shape(), y.shape())) {
    if (gx.valid()) context.set(0, SumTo(gx, x.shape(), *whole));
    if (gy.valid()) context.set(1, SumTo(gy, y.shape(), *whole));
    return;
  }
  const Output x_shape = ShapeOf(x);
  const Output y_shape = ShapeOf(y);
  const auto [x_axes, y_axes] = BroadcastGradientArgs(x_shape, y_shape);
  if (gx.valid()) context.set(0, Reshape(Sum(gx, x_axes), x_shape));
  if (gy.valid()) context.set(1, Reshape(Sum(gy, y_axes), y_shape));
}

Output KeptShape(const Output& input, const Output& axes) {
  const PartialShape shape = input.shape();
  const Node* node = axes.node();
  if (shape.IsFullyKnown() && node->op() == "Const") {
    std::vector<int32_t> kept = AsInts(shape);
    const Tensor& value = node->attr<Tensor>("value");
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      const int64_t axis =
          value.dtype() == kInt32 ? value.data<int32_t>()[i] : value.data<int64_t>()[i];
      kept[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = 1;
    }
    return IntConstant(input.graph(), kept);
  }
  // The sizes at the places of all axes, then ones at the places of the reduced ones, which win.
  const Output rank = Rank(input);
  const Output places = Reshape(FloorMod(Cast(axes, kInt32) + rank, rank), {-1});
  const Output all = Range(input.graph(), 0, rank);
  return DynamicStitch({all, places}, {ShapeOf(input), OnesLike(places)});
}

}  // namespace carillon
