// Arithmetic, comparisons, reductions, products of matrices, segments.
//
// Functions of two operands broadcast: dimensions are aligned from the last one, and a dimension of
// one, or a missing one, is repeated. Both operands have one dtype, which the result has too unless
// stated otherwise; a literal takes the dtype of the other operand. Integers wrap around.
#pragma once

#include <cstdint>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Strings are joined.
Output Add(const Input& x, const Input& y);
// The same without strings; what x + y makes.
Output AddV2(const Input& x, const Input& y);
Output Sub(const Input& x, const Input& y);
Output Mul(const Input& x, const Input& y);
// Zero where y is zero, even if x is infinite or NaN.
Output MulNoNan(const Input& x, const Input& y);
// Integers are divided towards zero; a zero divisor of integers is InvalidArgument in all of these.
Output Div(const Input& x, const Input& y);
// Of floats only.
Output RealDiv(const Input& x, const Input& y);
// Zero where y is zero.
Output DivNoNan(const Input& x, const Input& y);
// The quotient rounded towards zero, of floats too.
Output TruncateDiv(const Input& x, const Input& y);
// … and towards minus infinity.
Output FloorDiv(const Input& x, const Input& y);
// The remainder of TruncateDiv, which has the sign of x.
Output TruncateMod(const Input& x, const Input& y);
// The same.
Output Mod(const Input& x, const Input& y);
// The remainder of FloorDiv, which has the sign of y.
Output FloorMod(const Input& x, const Input& y);
// Integers to negative powers are InvalidArgument.
Output Pow(const Input& x, const Input& y);
// NaN where either is.
Output Maximum(const Input& x, const Input& y);
Output Minimum(const Input& x, const Input& y);
// (x - y)².
Output SquaredDifference(const Input& x, const Input& y);
// The angle of the point (x, y).
Output Atan2(const Input& y, const Input& x);
// x / y, and zero where x is zero.
Output Xdivy(const Input& x, const Input& y);
// x · log(y), and zero where x is zero.
Output Xlogy(const Input& x, const Input& y);
// x · log(1 + y), and zero where x is zero.
Output Xlog1py(const Input& x, const Input& y);
// The sum of all inputs, which have one shape.
Output AddN(const std::vector<Output>& inputs);
// The same; `shape` is what is known of the result.
Output AccumulateNV2(const std::vector<Output>& inputs, const PartialShape& shape);

// Bits of integers. Shifts by less than nothing or more than there are bits count as the nearest
// that is possible.
Output BitwiseAnd(const Input& x, const Input& y);
Output BitwiseOr(const Input& x, const Input& y);
Output BitwiseXor(const Input& x, const Input& y);
Output LeftShift(const Input& x, const Input& y);
Output RightShift(const Input& x, const Input& y);
Output Invert(const Input& x);

// Functions of one operand.
Output Neg(const Input& x);
Output Abs(const Input& x);
// -1, 0 or 1; NaN for NaN.
Output Sign(const Input& x);
Output Square(const Input& x);
Output Sqrt(const Input& x);
// 1 / √x.
Output Rsqrt(const Input& x);
// 1 / x.
Output Reciprocal(const Input& x);
// The same.
Output Inv(const Input& x);
Output Exp(const Input& x);
// exp(x) - 1, exact near zero.
Output Expm1(const Input& x);
Output Log(const Input& x);
// log(1 + x), exact near zero.
Output Log1p(const Input& x);
// 1 / (1 + exp(-x)).
Output Sigmoid(const Input& x);
Output Tanh(const Input& x);
Output Sin(const Input& x);
Output Cos(const Input& x);
Output Tan(const Input& x);
Output Asin(const Input& x);
Output Acos(const Input& x);
Output Atan(const Input& x);
Output Sinh(const Input& x);
Output Cosh(const Input& x);
Output Asinh(const Input& x);
Output Acosh(const Input& x);
Output Atanh(const Input& x);
Output Erf(const Input& x);
// 1 - Erf(x).
Output Erfc(const Input& x);
// The inverse of Erf.
Output Erfinv(const Input& x);
// Where the normal distribution function reaches x.
Output Ndtri(const Input& x);
// log |Γ(x)|.
Output Lgamma(const Input& x);
// The derivative of Lgamma.
Output Digamma(const Input& x);
Output Floor(const Input& x);
Output Ceil(const Input& x);
// Halves go to the even neighbour.
Output Round(const Input& x);
// The same, of floats only.
Output Rint(const Input& x);
// The conjugate of a real number is itself: gives x.
Output Conj(const Output& x);

// Comparisons; results are bool. Comparisons with NaN are false, and NaN is not equal to itself.
Output Equal(const Input& x, const Input& y);
Output NotEqual(const Input& x, const Input& y);
Output Less(const Input& x, const Input& y);
Output LessEqual(const Input& x, const Input& y);
Output Greater(const Input& x, const Input& y);
Output GreaterEqual(const Input& x, const Input& y);
// |x - y| < tolerance; x and y have one shape.
Output ApproximateEqual(const Input& x, const Input& y, float tolerance = 1e-5f);
Output LogicalAnd(const Input& x, const Input& y);
Output LogicalOr(const Input& x, const Input& y);
Output LogicalNot(const Input& x);
Output IsNan(const Input& x);
Output IsInf(const Input& x);
Output IsFinite(const Input& x);

// Reductions over the dimensions `axes`, which may count from the last one (-1); over all of them
// when `axes` are left out. With keep_dims the reduced dimensions stay, with size one.
Output Sum(const Input& input, const Input& axes = Input(), bool keep_dims = false);
// Of integers: the sum divided towards zero.
Output Mean(const Input& input, const Input& axes = Input(), bool keep_dims = false);
Output Prod(const Input& input, const Input& axes = Input(), bool keep_dims = false);
// NaN where any element is. Of nothing: -∞, or the least integer.
Output Max(const Input& input, const Input& axes = Input(), bool keep_dims = false);
Output Min(const Input& input, const Input& axes = Input(), bool keep_dims = false);
// √Σx².
Output EuclideanNorm(const Input& input, const Input& axes = Input(), bool keep_dims = false);
// Of bool.
Output All(const Input& input, const Input& axes = Input(), bool keep_dims = false);
Output Any(const Input& input, const Input& axes = Input(), bool keep_dims = false);
// Where along `dimension` the largest (smallest) element is: the first one of several. NaN never
// wins.
Output ArgMax(const Input& input, const Input& dimension, DType output_type = kInt64);
Output ArgMin(const Input& input, const Input& dimension, DType output_type = kInt64);
// Running sums and products along `axis`. exclusive: each without its own element; reverse: from
// the end.
Output Cumsum(const Input& x, const Input& axis, bool exclusive = false, bool reverse = false);
Output Cumprod(const Input& x, const Input& axis, bool exclusive = false, bool reverse = false);

// The product of two matrices, either of them transposed first.
Output MatMul(const Input& a, const Input& b, bool transpose_a = false, bool transpose_b = false);
// Products of the matrices in the last two dimensions. The other dimensions are the same
// (BatchMatMul) or broadcast.
Output BatchMatMul(const Input& x, const Input& y, bool adj_x = false, bool adj_y = false);
Output BatchMatMulV2(const Input& x, const Input& y, bool adj_x = false, bool adj_y = false);
// The same with operands and a result of different dtypes: small integers give int32, and with
// bfloat16 they give bfloat16.
Output BatchMatMulV3(const Input& x, const Input& y, DType output_type, bool adj_x = false,
                     bool adj_y = false);
// The cross product of vectors of three elements in the last dimension.
Output Cross(const Input& a, const Input& b);

// Each element brought between two bounds, which are scalars or have the shape of t.
Output ClipByValue(const Input& t, const Input& clip_value_min, const Input& clip_value_max);

// The k largest elements of the last dimension in falling order, and where they are.
struct TopKOutputs {
  Output values;
  Output indices;
};
TopKOutputs TopKV2(const Input& input, const Input& k, bool sorted = true);
// For each row of predictions: is targets[i] among the k largest? An element out of range is not,
// nor is any in a row with NaN or infinities.
Output InTopKV2(const Input& predictions, const Input& targets, const Input& k);

// Rows of `data` combined by segment: out[s] is the combination of data[i] over the i with
// segment_ids[i] = s. Ids never fall; a segment without rows is 0 (1 for Prod).
Output SegmentSum(const Input& data, const Input& segment_ids);
Output SegmentMean(const Input& data, const Input& segment_ids);
Output SegmentMax(const Input& data, const Input& segment_ids);
Output SegmentMin(const Input& data, const Input& segment_ids);
Output SegmentProd(const Input& data, const Input& segment_ids);
// Ids in any order, and of several dimensions, with which the shape of `data` begins; rows with a
// negative id are dropped. A segment without rows is 0, 1 (Prod), or the least (Max) or greatest
// (Min) number.
Output UnsortedSegmentSum(const Input& data, const Input& segment_ids, const Input& num_segments);
Output UnsortedSegmentMax(const Input& data, const Input& segment_ids, const Input& num_segments);
Output UnsortedSegmentMin(const Input& data, const Input& segment_ids, const Input& num_segments);
Output UnsortedSegmentProd(const Input& data, const Input& segment_ids, const Input& num_segments);
// Segments of data[indices[i]]. num_segments, when given, is the number of rows of the result.
Output SparseSegmentSum(const Input& data, const Input& indices, const Input& segment_ids,
                        const Input& num_segments = Input());
Output SparseSegmentMean(const Input& data, const Input& indices, const Input& segment_ids,
                         const Input& num_segments = Input());
// The sum divided by the root of the number of rows.
Output SparseSegmentSqrtN(const Input& data, const Input& indices, const Input& segment_ids,
                          const Input& num_segments = Input());

// How often each of 0 … size-1 occurs in `arr`, or, unless `weights` is empty, the sum of the
// weights where it does.
Output Bincount(const Input& arr, const Input& size, const Input& weights);
// The same of int32 or int64; each row of a matrix is counted for itself. With binary_output: 1 for
// what occurs, whatever it weighs.
Output DenseBincount(const Input& input, const Input& size, const Input& weights,
                     bool binary_output = false);
// How many values fall into each of nbins equal parts of value_range; those outside count for the
// first and last part.
Output HistogramFixedWidth(const Input& values, const Input& value_range, const Input& nbins,
                           DType dtype = kInt32);
// The number of boundaries, which must be sorted, that each element reaches.
Output Bucketize(const Input& input, const std::vector<float>& boundaries);

// Gradients in terms of the function's result y: what the backward graph is made of.
Output SqrtGrad(const Input& y, const Input& dy);
Output RsqrtGrad(const Input& y, const Input& dy);
Output TanhGrad(const Input& y, const Input& dy);
Output SigmoidGrad(const Input& y, const Input& dy);
Output ReciprocalGrad(const Input& y, const Input& dy);
Output InvGrad(const Input& y, const Input& dy);
Output SparseSegmentSumGrad(const Input& grad, const Input& indices, const Input& segment_ids,
                            const Input& output_dim0);
Output SparseSegmentMeanGrad(const Input& grad, const Input& indices, const Input& segment_ids,
                             const Input& output_dim0);
Output SparseSegmentSqrtNGrad(const Input& grad, const Input& indices, const Input& segment_ids,
                              const Input& output_dim0);

// x / y divides integers towards zero, as C++ does.
Output operator+(const Output& x, const Output& y);
Output operator+(const Output& x, const Input& y);
Output operator+(const Input& x, const Output& y);
Output operator-(const Output& x, const Output& y);
Output operator-(const Output& x, const Input& y);
Output operator-(const Input& x, const Output& y);
Output operator*(const Output& x, const Output& y);
Output operator*(const Output& x, const Input& y);
Output operator*(const Input& x, const Output& y);
Output operator/(const Output& x, const Output& y);
Output operator/(const Output& x, const Input& y);
Output operator/(const Input& x, const Output& y);
Output operator-(const Output& x);

}  // namespace carillon
