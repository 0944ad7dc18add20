// Gradients of reductions, scans and of picking the largest.
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/broadcast.h"
#include "graph/gradients/math.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

bool KeepsDims(const GradContext& c) { return c.op().node()->attr<bool>("keep_dims"); }

// A value of the op's output shape, with the reduced dimensions back as ones, so that it broadcasts
// against the input.
Output Kept(const GradContext& c, const Output& value) {
  return KeepsDims(c) ? value : Reshape(value, KeptShape(c.input(0), c.input(1)));
}

Output SumGradientOf(const GradContext& c, const Output& dy) {
  return BroadcastTo(Kept(c, dy), ShapeOf(c.input(0)));
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
  const Output factor = Cast(FloorDiv(Size(x), Maximum(Size(c.output(0)), 1)), x.dtype());
  c.set(0, SumGradientOf(c, c.grad() / factor));
}

// All elements that are the extreme share the gradient.
void ExtremeGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output is_extreme = Cast(Equal(x, Kept(c, c.output(0))), x.dtype());
  const Output number = Sum(is_extreme, c.input(1), /*keep_dims=*/true);
  c.set(0, is_extreme / number * Kept(c, c.grad()));
}

// The derivative by an element is the product of all others: of those before it and those after it,
// so that zeros need no exception. To scan them, reduced dimensions come first, as one.
void ProdGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output rank = Rank(x);
  const Output axes = Reshape(FloorMod(Cast(c.input(1), kInt32) + rank, rank), {-1});
  const Output others = ListDiff(Range(c.graph(), 0, rank), axes).out;
  const Output order = Concat({axes, others}, 0);
  const Output shape = ShapeOf(x);
  const Output turned = Transpose(x, order);
  const Output matrix =
      Reshape(turned, Pack({Prod(Gather(shape, axes), 0), Prod(Gather(shape, others), 0)}));
  const Output before = Cumprod(matrix, 0, /*exclusive=*/true);
  const Output after = Cumprod(matrix, 0, /*exclusive=*/true, /*reverse=*/true);
  const Output of_others = Reshape(before * after, ShapeOf(turned));
  const Output turned_back = Transpose(of_others, InvertPermutation(order));
  c.set(0, Reshape(turned_back * Kept(c, c.grad()), shape));
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
  const Output shape = ShapeOf(c.input(0));
  const Output places = Cast(c.output(1), kInt32);
  const auto last_of = [](const Output& sizes) {
    return StridedSlice(sizes, {-1}, {0}, {1}, {.end_mask = 1, .shrink_axis_mask = 1});
  };
  const Output size = Prod(shape, 0);
  const Output columns = Maximum(last_of(shape), 1);
  const Output rows = Reshape(places, Pack({FloorDiv(size, columns), last_of(ShapeOf(places))}));
  const Output row_starts = Reshape(Range(c.graph(), 0, size, columns), {-1, 1});
  const Output spread =
      ScatterNd(Reshape(rows + row_starts, {-1, 1}), Reshape(c.grad(), {-1}), Reshape(size, {1}));
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
