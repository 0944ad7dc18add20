// Gradients of segments.
#include "base/strings.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/broadcast.h"
#include "graph/gradients/math.h"

namespace carillon {
namespace {

// Rows by id; zeros where the id is negative and its row was dropped.
Output GatherOrZero(const Output& rows, const Output& ids) {
  const Output gathered = Gather(rows, Maximum(ids, 0));
  // One bool an id, with as many trailing ones as rows have dimensions besides the first.
  const Output trailing = OnesLike(StridedSlice(ShapeOf(rows), {1}, {0}, {1}, {.end_mask = 1}));
  const Output kept = Reshape(GreaterEqual(ids, 0), Concat({ShapeOf(ids), trailing}, 0));
  return SelectV2(kept, gathered, ZerosLike(gathered));
}

void SegmentSumGradient(GradContext& c) { c.set(0, Gather(c.grad(), c.input(1))); }

void SegmentMeanGradient(GradContext& c) {
  const Output ids = c.input(1);
  // The number of rows of each segment, shaped to divide the rows.
  const Output trailing = Fill(Reshape(Rank(c.input(0)) - 1, {1}), Tensor::Scalar<int32_t>(1));
  const Output ones = Fill(Concat({ShapeOf(ids), trailing}, 0), Tensor::Scalar<int32_t>(1));
  const Output counts = SegmentSum(Cast(ones, c.input(0).dtype()), ids);
  c.set(0, Gather(c.grad() / counts, ids));
}

// Rows that are the extreme share the gradient.
void SegmentExtremeGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output ids = c.input(1);
  const Output is_extreme = Equal(x, Gather(c.output(0), ids));
  const Output number = SegmentSum(Cast(is_extreme, x.dtype()), ids);
  c.set(0, SelectV2(is_extreme, Gather(c.grad() / number, ids), ZerosLike(x)));
}

void UnsortedSegmentSumGradient(GradContext& c) { c.set(0, GatherOrZero(c.grad(), c.input(1))); }

void UnsortedSegmentExtremeGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output ids = c.input(1);
  const Output extreme = Gather(c.output(0), Maximum(ids, 0));
  const Output is_extreme = Equal(x, extreme);
  const Output number = UnsortedSegmentSum(Cast(is_extreme, x.dtype()), ids, c.input(2));
  // A segment without rows has number 0, but nothing gathers from it.
  c.set(0, SelectV2(is_extreme, GatherOrZero(c.grad() / number, ids), ZerosLike(x)));
}

// The product of the other rows: the segment's product divided by the row, or, for the only zero of
// a segment, the product without it. With two zeros all is zero.
Output ProductGradient(const Output& x, const Output& ids, const Output& product,
                       const Output& product_without_zeros, const Output& number_of_zeros,
                       const Output& dy) {
  const Output is_zero = Equal(x, 0);
  const Output places = Maximum(ids, 0);
  const Output of_others =
      SelectV2(is_zero, Gather(product_without_zeros, places), Gather(product, places) / x);
  const Output effective = SelectV2(Greater(number_of_zeros, 1), ZerosLike(dy), dy);
  return GatherOrZero(effective, ids) * of_others;
}

void SegmentProdGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output ids = c.input(1);
  const Output is_zero = Equal(x, 0);
  const Output zeros = SegmentSum(Cast(is_zero, kInt32), ids);
  const Output without_zeros = SegmentProd(SelectV2(is_zero, OnesLike(x), x), ids);
  c.set(0, ProductGradient(x, ids, c.output(0), without_zeros, zeros, c.grad()));
}

void UnsortedSegmentProdGradient(GradContext& c) {
  const Output x = c.input(0);
  const Output ids = c.input(1);
  const Output is_zero = Equal(x, 0);
  const Output zeros = UnsortedSegmentSum(Cast(is_zero, kInt32), ids, c.input(2));
  const Output without_zeros =
      UnsortedSegmentProd(SelectV2(is_zero, OnesLike(x), x), ids, c.input(2));
  c.set(0, ProductGradient(x, ids, c.output(0), without_zeros, zeros, c.grad()));
}

template <Output (*Grad)(const Input&, const Input&, const Input&, const Input&)>
void SparseSegmentGradient(GradContext& c) {
  const Output rows = StridedSlice(ShapeOf(c.input(0)), {0}, {1}, {1}, {.shrink_axis_mask = 1});
  c.set(0, Grad(c.grad(), c.input(1), c.input(2), rows));
}

}  // namespace

void AddMathSegmentGradients(GradTable& grads) {
  grads.Add("SegmentSum", SegmentSumGradient);
  grads.Add("SegmentMean", SegmentMeanGradient);
  grads.Add("SegmentMax", SegmentExtremeGradient);
  grads.Add("SegmentMin", SegmentExtremeGradient);
  grads.Add("SegmentProd", SegmentProdGradient);
  grads.Add("UnsortedSegmentSum", UnsortedSegmentSumGradient);
  grads.Add("UnsortedSegmentMax", UnsortedSegmentExtremeGradient);
  grads.Add("UnsortedSegmentMin", UnsortedSegmentExtremeGradient);
  grads.Add("UnsortedSegmentProd", UnsortedSegmentProdGradient);
  for (const char* suffix : {"", "WithNumSegments"}) {
    grads.Add(StrCat("SparseSegmentSum", suffix), SparseSegmentGradient<SparseSegmentSumGrad>);
    grads.Add(StrCat("SparseSegmentMean", suffix), SparseSegmentGradient<SparseSegmentMeanGrad>);
    grads.Add(StrCat("SparseSegmentSqrtN", suffix), SparseSegmentGradient<SparseSegmentSqrtNGrad>);
  }
}

}  // namespace carillon
