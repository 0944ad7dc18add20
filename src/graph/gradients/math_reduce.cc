// Gradients of reductions, scans and of picking the largest.
#include "carillon/op_builder.h"
#include "carillon/ops/math.h"
#include "graph/gradients/broadcast.h"
#include "graph/gradients/math.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

Output Reshape(const Output& x, const Input& shape) {
  return OpBuilder("Reshape").Arg(x).Arg(shape);
}
Output CastTo(const Output& x, DType dtype) { return OpBuilder("Cast").Arg(x).Attr("DstT", dtype); }

bool KeepsDims(const GradContext& c) { return c.op().node()->attr<bool>("keep_dims"); }

// A value of the op's output shape, with the reduced dimensions back as ones, so that it broadcasts
// against the input.
Output Kept(const GradContext& c, const Output& value) {
  return KeepsDims(c) ? value : Reshape(value, KeptShape(c.input(0), c.input(1)));
}

Output SumGradientOf(const GradContext& c, const Output& dy) {
  return OpBuilder("BroadcastTo").Arg(Kept(c, dy)).Arg(ShapeOf(c.input(0)));
}

void SumGradient(GradContext& c) { c.set(0, SumGradientOf(c, c.grad())); }

void MeanGradient(GradContext& c) {
  const Output x = c.input(0);
  Shape in, out;
  if (x.shape().AsShape(&in) && c.output(0).shape().AsShape(&out)) {
    const double factor = out.num_elements() == 0 ? 1.0
                                                  : static_cast<double>(in.num_elements()) /
                                                        static_cast<double>(out.num_elements());
    // Divided before it is spread: less work.
    c.set(0, SumGradientOf(c, c.grad() / factor));
    return;
  }
  const Output in_size = OpBuilder("Size").Arg(x);
  const Output out_size = OpBuilder("Size").Arg(c.output(0));
  const Output factor = CastTo(FloorDiv(in_size, Maximum(out_size, 1)), x.dtype());
  c.set(0, SumGradientOf(c, c.grad() / factor));
}

// All elements that are the extreme share the gradient.
void ExtremeGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output is_extreme = CastTo(Equal(x, Kept(c, c.output(0))), x.dtype());
  const Output number = Sum(is_extreme, c.input(1), /*keep_dims=*/true);
  c.set(0, is_extreme / number * Kept(c, c.grad()));
}

// The derivative by an element is the product of all others: of those before it and those after it,
// so that zeros need no exception. To scan them, reduced dimensions come first, as one.
void ProdGradient(GradContext& c) {
  const Output x = c.input(0);
  Graph& graph = c.graph();
  const Output rank = OpBuilder("Rank").Arg(x);
  Output axes = c.input(1);
  if (axes.dtype() != kInt32) axes = CastTo(axes, kInt32);
  axes = Reshape(FloorMod(axes + rank, rank), {-1});
  const Output all = OpBuilder(graph, "Range").Arg(0).Arg(rank).Arg(1);
  const Output others = OpBuilder("ListDiff").Arg(all).Arg(axes);
  const Output order = OpBuilder("ConcatV2").Args(std::vector<Output>{axes, others}).Arg(0);
  const Output shape = ShapeOf(x);
  const auto sizes_at = [&](const Output& places) -> Output {
    return OpBuilder("GatherV2").Arg(shape).Arg(places).Arg(0);
  };
  const Output matrix_shape = OpBuilder("Pack").Args(
      std::vector<Output>{Prod(sizes_at(axes), 0), Prod(sizes_at(others), 0)});
  const Output turned = OpBuilder("Transpose").Arg(x).Arg(order);
  const Output matrix = Reshape(turned, matrix_shape);
  const Output before = Cumprod(matrix, 0, /*exclusive=*/true);
  const Output after = Cumprod(matrix, 0, /*exclusive=*/true, /*reverse=*/true);
  const Output turned_others = Reshape(before * after, OpBuilder("Shape").Arg(turned).Build());
  const Output back = OpBuilder("InvertPermutation").Arg(order);
  const Output product_of_others = OpBuilder("Transpose").Arg(turned_others).Arg(back);
  c.set(0, Reshape(product_of_others * Kept(c, c.grad()), shape));
}

void EuclideanNormGradient(GradContext& c) {
  const Output norm = Kept(c, c.output(0));
  c.set(0, c.input(0) / (norm / Kept(c, c.grad())));
}

void CumsumGradient(GradContext& c) {
  const Node& node = *c.op().node();
  c.set(0, Cumsum(c.grad(), c.input(1), node.attr<bool>("exclusive"), !node.attr<bool>("reverse")));
}

void CumprodGradient(GradContext& c) {
  const Node& node = *c.op().node();
  const bool exclusive = node.attr<bool>("exclusive");
  const bool reverse = node.attr<bool>("reverse");
  const Output sums = Cumsum(c.output(0) * c.grad(), c.input(1), exclusive, !reverse);
  c.set(0, DivNoNan(sums, c.input(0)));
}

// Each gradient goes back to where its element was.
void TopKGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output shape = ShapeOf(x);
  const auto last_of = [](const Output& sizes) -> Output {
    return OpBuilder("StridedSlice")
        .Arg(sizes)
        .Arg({-1})
        .Arg({0})
        .Arg({1})
        .Attr("shrink_axis_mask", 1)
        .Attr("end_mask", 1);
  };
  Output places = c.output(1);
  if (places.dtype() != kInt32) places = CastTo(places, kInt32);
  const Output columns = last_of(shape);
  const Output k = last_of(OpBuilder("Shape").Arg(places));
  const Output size = Prod(shape, 0);
  const Output rows = Reshape(
      places,
      OpBuilder("Pack").Args(std::vector<Output>{FloorDiv(size, Maximum(columns, 1)), k}).Build());
  const Output row_starts = OpBuilder("Range").Arg(0).Arg(size).Arg(Maximum(columns, 1));
  const Output flat = Reshape(rows + Reshape(row_starts, {-1, 1}), {-1, 1});
  const Output spread =
      OpBuilder("ScatterNd").Arg(flat).Arg(Reshape(c.grad(), {-1})).Arg(Reshape(size, {1}));
  c.set(0, Reshape(spread, shape));
}

}  // namespace

void AddMathReduceGradients(GradTable& grads) {
  grads.Add("Sum", SumGradient);
  grads.Add("Mean", MeanGradient);
  grads.Add("Max", ExtremeGradient);
  grads.Add("Min", ExtremeGradient);
  grads.Add("Prod", ProdGradient);
  grads.Add("EuclideanNorm", EuclideanNormGradient);
  grads.Add("Cumsum", CumsumGradient);
  grads.Add("Cumprod", CumprodGradient);
  grads.Add("TopK", TopKGradient);
  grads.Add("TopKV2", TopKGradient);
}

}  // namespace carillon
