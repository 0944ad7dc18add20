// Gradients of products of matrices.
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/broadcast.h"
#include "graph/gradients/math.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// For c = op(a) op(b): da and db, given how to multiply with either operand transposed.
template <typename Multiply>
void SetProductGradients(GradContext& c, bool transpose_a, bool transpose_b,
                         const Multiply& multiply) {
  const Output a = c.input(0);
  const Output b = c.input(1);
  const Output dy = c.grad();
  c.set(0, transpose_a ? multiply(b, dy, transpose_b, true) : multiply(dy, b, false, !transpose_b));
  c.set(1, transpose_b ? multiply(dy, a, true, transpose_a) : multiply(a, dy, !transpose_a, false));
}

void MatMulGradient(GradContext& c) {
  const Node& node = *c.op().node();
  SetProductGradients(c, node.attr<bool>("transpose_a"), node.attr<bool>("transpose_b"),
                      [](const Output& a, const Output& b, bool ta, bool tb) -> Output {
                        return MatMul(a, b, ta, tb);
                      });
}

void BatchMatMulGradient(GradContext& c) {
  const Node& node = *c.op().node();
  SetProductGradients(c, node.attr<bool>("adj_x"), node.attr<bool>("adj_y"),
                      [](const Output& a, const Output& b, bool ta, bool tb) -> Output {
                        return BatchMatMul(a, b, ta, tb);
                      });
}

PartialShape BatchOf(const PartialShape& shape) {
  if (shape.rank() < 2) return PartialShape();
  return PartialShape(shape.dims().first(static_cast<size_t>(shape.rank() - 2)));
}

// The batch dimensions of the shape vector `shape`.
Output BatchDims(const Output& shape) { return StridedSlice(shape, {0}, {-2}, {1}); }

// As above, then summed over the batch dimensions along which an operand was repeated. V3 may
// compute in another dtype than its operands have.
void BatchMatMulV2Gradient(GradContext& c) {
  const Node& node = *c.op().node();
  const Output x = c.input(0);
  const Output y = c.input(1);
  SetProductGradients(c, node.attr<bool>("adj_x"), node.attr<bool>("adj_y"),
                      [&](const Output& a, const Output& b, bool ta, bool tb) -> Output {
                        if (node.op() == "BatchMatMulV3")
                          return BatchMatMulV3(a, b, x.dtype(), ta, tb);
                        return BatchMatMulV2(a, b, ta, tb);
                      });
  const PartialShape x_batch = BatchOf(x.shape());
  if (x_batch.IsFullyKnown() && x_batch == BatchOf(y.shape())) return;
  const Output x_shape = ShapeOf(x);
  const Output y_shape = ShapeOf(y);
  const auto [x_axes, y_axes] = BroadcastGradientArgs(BatchDims(x_shape), BatchDims(y_shape));
  const Output gx = c.input_grads()[0].tensor();
  const Output gy = c.input_grads()[1].tensor();
  c.set(0, Reshape(Sum(gx, x_axes), x_shape));
  c.set(1, Reshape(Sum(gy, y_axes), y_shape));
}

}  // namespace

void AddMathMatMulGradients(GradTable& grads) {
  grads.Add("MatMul", MatMulGradient);
  grads.Add("BatchMatMul", BatchMatMulGradient);
  grads.Add("BatchMatMulV2", BatchMatMulV2Gradient);
  grads.Add("BatchMatMulV3", BatchMatMulV2Gradient);
}

}  // namespace carillon
