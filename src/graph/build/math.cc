#include "carillon/ops/math.h"

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/attr.h"

namespace carillon {
namespace {

Output Unary(const char* op, const Input& x) { return OpBuilder(op).Arg(x); }

Output Binary(const char* op, const Input& x, const Input& y) {
  return OpBuilder(op).Arg(x).Arg(y);
}

// All axes of `input`, as a constant when their number is known.
Output AllAxes(const Input& input) {
  const Output value = input.output();
  if (!value.valid())
    Throw(InvalidArgument("a reduction of a literal has no graph: give it an Output"));
  Graph& graph = value.graph();
  const PartialShape shape = value.shape();
  if (!shape.has_rank()) {
    const Output rank = OpBuilder("Rank").Arg(value);
    return OpBuilder(graph, "Range").Arg(0).Arg(rank).Arg(1);
  }
  std::vector<int32_t> axes(static_cast<size_t>(shape.rank()));
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int32_t>(i);
  return OpBuilder(graph, "Const").Attr("value", Tensor::FromVector(axes)).Attr("dtype", kInt32);
}

Output Reduction(const char* op, const Input& input, const Input& axes, bool keep_dims) {
  return OpBuilder(op)
      .Arg(input)
      .Arg(axes.valid() ? axes : Input(AllAxes(input)))
      .Attr("keep_dims", keep_dims);
}

Output SparseSegment(const char* op, const char* op_with_size, const Input& data,
                     const Input& indices, const Input& segment_ids, const Input& num_segments) {
  OpBuilder builder(num_segments.valid() ? op_with_size : op);
  builder.Arg(data).Arg(indices).Arg(segment_ids);
  if (num_segments.valid()) builder.Arg(num_segments);
  return builder;
}

Output Divide(const Input& x, const Input& y, DType dtype) {
  return Binary(IsFloating(dtype) ? "RealDiv" : "TruncateDiv", x, y);
}

}  // namespace

Output Add(const Input& x, const Input& y) { return Binary("Add", x, y); }
Output AddV2(const Input& x, const Input& y) { return Binary("AddV2", x, y); }
Output Sub(const Input& x, const Input& y) { return Binary("Sub", x, y); }
Output Mul(const Input& x, const Input& y) { return Binary("Mul", x, y); }
Output MulNoNan(const Input& x, const Input& y) { return Binary("MulNoNan", x, y); }
Output Div(const Input& x, const Input& y) { return Binary("Div", x, y); }
Output RealDiv(const Input& x, const Input& y) { return Binary("RealDiv", x, y); }
Output DivNoNan(const Input& x, const Input& y) { return Binary("DivNoNan", x, y); }
Output TruncateDiv(const Input& x, const Input& y) { return Binary("TruncateDiv", x, y); }
Output FloorDiv(const Input& x, const Input& y) { return Binary("FloorDiv", x, y); }
Output TruncateMod(const Input& x, const Input& y) { return Binary("TruncateMod", x, y); }
Output Mod(const Input& x, const Input& y) { return Binary("Mod", x, y); }
Output FloorMod(const Input& x, const Input& y) { return Binary("FloorMod", x, y); }
Output Pow(const Input& x, const Input& y) { return Binary("Pow", x, y); }
Output Maximum(const Input& x, const Input& y) { return Binary("Maximum", x, y); }
Output Minimum(const Input& x, const Input& y) { return Binary("Minimum", x, y); }
Output SquaredDifference(const Input& x, const Input& y) {
  return Binary("SquaredDifference", x, y);
}
Output Atan2(const Input& x, const Input& y) { return Binary("Atan2", x, y); }
Output Xdivy(const Input& x, const Input& y) { return Binary("Xdivy", x, y); }
Output Xlogy(const Input& x, const Input& y) { return Binary("Xlogy", x, y); }
Output Xlog1py(const Input& x, const Input& y) { return Binary("Xlog1py", x, y); }
Output BitwiseAnd(const Input& x, const Input& y) { return Binary("BitwiseAnd", x, y); }
Output BitwiseOr(const Input& x, const Input& y) { return Binary("BitwiseOr", x, y); }
Output BitwiseXor(const Input& x, const Input& y) { return Binary("BitwiseXor", x, y); }
Output LeftShift(const Input& x, const Input& y) { return Binary("LeftShift", x, y); }
Output RightShift(const Input& x, const Input& y) { return Binary("RightShift", x, y); }
Output Invert(const Input& x) { return Unary("Invert", x); }
Output Neg(const Input& x) { return Unary("Neg", x); }
Output Abs(const Input& x) { return Unary("Abs", x); }
Output Sign(const Input& x) { return Unary("Sign", x); }
Output Square(const Input& x) { return Unary("Square", x); }
Output Sqrt(const Input& x) { return Unary("Sqrt", x); }
Output Rsqrt(const Input& x) { return Unary("Rsqrt", x); }
Output Reciprocal(const Input& x) { return Unary("Reciprocal", x); }
Output Inv(const Input& x) { return Unary("Inv", x); }
Output Exp(const Input& x) { return Unary("Exp", x); }
Output Expm1(const Input& x) { return Unary("Expm1", x); }
Output Log(const Input& x) { return Unary("Log", x); }
Output Log1p(const Input& x) { return Unary("Log1p", x); }
Output Sigmoid(const Input& x) { return Unary("Sigmoid", x); }
Output Tanh(const Input& x) { return Unary("Tanh", x); }
Output Sin(const Input& x) { return Unary("Sin", x); }
Output Cos(const Input& x) { return Unary("Cos", x); }
Output Tan(const Input& x) { return Unary("Tan", x); }
Output Asin(const Input& x) { return Unary("Asin", x); }
Output Acos(const Input& x) { return Unary("Acos", x); }
Output Atan(const Input& x) { return Unary("Atan", x); }
Output Sinh(const Input& x) { return Unary("Sinh", x); }
Output Cosh(const Input& x) { return Unary("Cosh", x); }
Output Asinh(const Input& x) { return Unary("Asinh", x); }
Output Acosh(const Input& x) { return Unary("Acosh", x); }
Output Atanh(const Input& x) { return Unary("Atanh", x); }
Output Erf(const Input& x) { return Unary("Erf", x); }
Output Erfc(const Input& x) { return Unary("Erfc", x); }
Output Erfinv(const Input& x) { return Unary("Erfinv", x); }
Output Ndtri(const Input& x) { return Unary("Ndtri", x); }
Output Lgamma(const Input& x) { return Unary("Lgamma", x); }
Output Digamma(const Input& x) { return Unary("Digamma", x); }
Output Floor(const Input& x) { return Unary("Floor", x); }
Output Ceil(const Input& x) { return Unary("Ceil", x); }
Output Round(const Input& x) { return Unary("Round", x); }
Output Rint(const Input& x) { return Unary("Rint", x); }
Output Equal(const Input& x, const Input& y) { return Binary("Equal", x, y); }
Output NotEqual(const Input& x, const Input& y) { return Binary("NotEqual", x, y); }
Output Less(const Input& x, const Input& y) { return Binary("Less", x, y); }
Output LessEqual(const Input& x, const Input& y) { return Binary("LessEqual", x, y); }
Output Greater(const Input& x, const Input& y) { return Binary("Greater", x, y); }
Output GreaterEqual(const Input& x, const Input& y) { return Binary("GreaterEqual", x, y); }
Output LogicalAnd(const Input& x, const Input& y) { return Binary("LogicalAnd", x, y); }
Output LogicalOr(const Input& x, const Input& y) { return Binary("LogicalOr", x, y); }
Output LogicalNot(const Input& x) { return Unary("LogicalNot", x); }
Output IsNan(const Input& x) { return Unary("IsNan", x); }
Output IsInf(const Input& x) { return Unary("IsInf", x); }
Output IsFinite(const Input& x) { return Unary("IsFinite", x); }
Output SqrtGrad(const Input& x, const Input& y) { return Binary("SqrtGrad", x, y); }
Output RsqrtGrad(const Input& x, const Input& y) { return Binary("RsqrtGrad", x, y); }
Output TanhGrad(const Input& x, const Input& y) { return Binary("TanhGrad", x, y); }
Output SigmoidGrad(const Input& x, const Input& y) { return Binary("SigmoidGrad", x, y); }
Output ReciprocalGrad(const Input& x, const Input& y) { return Binary("ReciprocalGrad", x, y); }
Output InvGrad(const Input& x, const Input& y) { return Binary("InvGrad", x, y); }

Output AddN(const std::vector<Output>& inputs) { return OpBuilder("AddN").Args(inputs); }
Output AccumulateNV2(const std::vector<Output>& inputs, const PartialShape& shape) {
  return OpBuilder("AccumulateNV2").Args(inputs).Attr("shape", shape);
}
Output Conj(const Output& x) { return x; }
Output ApproximateEqual(const Input& x, const Input& y, float tolerance) {
  return OpBuilder("ApproximateEqual").Arg(x).Arg(y).Attr("tolerance", tolerance);
}

Output Sum(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("Sum", input, axes, keep_dims);
}
Output Mean(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("Mean", input, axes, keep_dims);
}
Output Prod(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("Prod", input, axes, keep_dims);
}
Output Max(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("Max", input, axes, keep_dims);
}
Output Min(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("Min", input, axes, keep_dims);
}
Output EuclideanNorm(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("EuclideanNorm", input, axes, keep_dims);
}
Output All(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("All", input, axes, keep_dims);
}
Output Any(const Input& input, const Input& axes, bool keep_dims) {
  return Reduction("Any", input, axes, keep_dims);
}

Output ArgMax(const Input& input, const Input& dimension, DType output_type) {
  return OpBuilder("ArgMax").Arg(input).Arg(dimension).Attr("output_type", output_type);
}
Output ArgMin(const Input& input, const Input& dimension, DType output_type) {
  return OpBuilder("ArgMin").Arg(input).Arg(dimension).Attr("output_type", output_type);
}
Output Cumsum(const Input& x, const Input& axis, bool exclusive, bool reverse) {
  return OpBuilder("Cumsum").Arg(x).Arg(axis).Attr("exclusive", exclusive).Attr("reverse", reverse);
}
Output Cumprod(const Input& x, const Input& axis, bool exclusive, bool reverse) {
  return OpBuilder("Cumprod")
      .Arg(x)
      .Arg(axis)
      .Attr("exclusive", exclusive)
      .Attr("reverse", reverse);
}

Output MatMul(const Input& a, const Input& b, bool transpose_a, bool transpose_b) {
  return OpBuilder("MatMul")
      .Arg(a)
      .Arg(b)
      .Attr("transpose_a", transpose_a)
      .Attr("transpose_b", transpose_b);
}
Output BatchMatMul(const Input& x, const Input& y, bool adj_x, bool adj_y) {
  return OpBuilder("BatchMatMul").Arg(x).Arg(y).Attr("adj_x", adj_x).Attr("adj_y", adj_y);
}
Output BatchMatMulV2(const Input& x, const Input& y, bool adj_x, bool adj_y) {
  return OpBuilder("BatchMatMulV2").Arg(x).Arg(y).Attr("adj_x", adj_x).Attr("adj_y", adj_y);
}
Output BatchMatMulV3(const Input& x, const Input& y, DType output_type, bool adj_x, bool adj_y) {
  return OpBuilder("BatchMatMulV3")
      .Arg(x)
      .Arg(y)
      .Attr("Tout", output_type)
      .Attr("adj_x", adj_x)
      .Attr("adj_y", adj_y);
}
Output Cross(const Input& a, const Input& b) { return Binary("Cross", a, b); }

Output ClipByValue(const Input& t, const Input& clip_value_min, const Input& clip_value_max) {
  return OpBuilder("ClipByValue").Arg(t).Arg(clip_value_min).Arg(clip_value_max);
}
TopKOutputs TopKV2(const Input& input, const Input& k, bool sorted) {
  const Operation op = OpBuilder("TopKV2").Arg(input).Arg(k).Attr("sorted", sorted).Build();
  return {op.output(0), op.output(1)};
}
Output InTopKV2(const Input& predictions, const Input& targets, const Input& k) {
  return OpBuilder("InTopKV2").Arg(predictions).Arg(targets).Arg(k);
}

Output SegmentSum(const Input& data, const Input& segment_ids) {
  return Binary("SegmentSum", data, segment_ids);
}
Output SegmentMean(const Input& data, const Input& segment_ids) {
  return Binary("SegmentMean", data, segment_ids);
}
Output SegmentMax(const Input& data, const Input& segment_ids) {
  return Binary("SegmentMax", data, segment_ids);
}
Output SegmentMin(const Input& data, const Input& segment_ids) {
  return Binary("SegmentMin", data, segment_ids);
}
Output SegmentProd(const Input& data, const Input& segment_ids) {
  return Binary("SegmentProd", data, segment_ids);
}
Output UnsortedSegmentSum(const Input& data, const Input& segment_ids, const Input& num_segments) {
  return OpBuilder("UnsortedSegmentSum").Arg(data).Arg(segment_ids).Arg(num_segments);
}
Output UnsortedSegmentMax(const Input& data, const Input& segment_ids, const Input& num_segments) {
  return OpBuilder("UnsortedSegmentMax").Arg(data).Arg(segment_ids).Arg(num_segments);
}
Output UnsortedSegmentMin(const Input& data, const Input& segment_ids, const Input& num_segments) {
  return OpBuilder("UnsortedSegmentMin").Arg(data).Arg(segment_ids).Arg(num_segments);
}
Output UnsortedSegmentProd(const Input& data, const Input& segment_ids, const Input& num_segments) {
  return OpBuilder("UnsortedSegmentProd").Arg(data).Arg(segment_ids).Arg(num_segments);
}
Output SparseSegmentSum(const Input& data, const Input& indices, const Input& segment_ids,
                        const Input& num_segments) {
  return SparseSegment("SparseSegmentSum", "SparseSegmentSumWithNumSegments", data, indices,
                       segment_ids, num_segments);
}
Output SparseSegmentMean(const Input& data, const Input& indices, const Input& segment_ids,
                         const Input& num_segments) {
  return SparseSegment("SparseSegmentMean", "SparseSegmentMeanWithNumSegments", data, indices,
                       segment_ids, num_segments);
}
Output SparseSegmentSqrtN(const Input& data, const Input& indices, const Input& segment_ids,
                          const Input& num_segments) {
  return SparseSegment("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments", data, indices,
                       segment_ids, num_segments);
}
Output SparseSegmentSumGrad(const Input& grad, const Input& indices, const Input& segment_ids,
                            const Input& output_dim0) {
  return OpBuilder("SparseSegmentSumGrad").Arg(grad).Arg(indices).Arg(segment_ids).Arg(output_dim0);
}
Output SparseSegmentMeanGrad(const Input& grad, const Input& indices, const Input& segment_ids,
                             const Input& output_dim0) {
  return OpBuilder("SparseSegmentMeanGrad")
      .Arg(grad)
      .Arg(indices)
      .Arg(segment_ids)
      .Arg(output_dim0);
}
Output SparseSegmentSqrtNGrad(const Input& grad, const Input& indices, const Input& segment_ids,
                              const Input& output_dim0) {
  return OpBuilder("SparseSegmentSqrtNGrad")
      .Arg(grad)
      .Arg(indices)
      .Arg(segment_ids)
      .Arg(output_dim0);
}

Output Bincount(const Input& arr, const Input& size, const Input& weights) {
  return OpBuilder("Bincount").Arg(arr).Arg(size).Arg(weights);
}
Output DenseBincount(const Input& input, const Input& size, const Input& weights,
                     bool binary_output) {
  return OpBuilder("DenseBincount")
      .Arg(input)
      .Arg(size)
      .Arg(weights)
      .Attr("binary_output", binary_output);
}
Output HistogramFixedWidth(const Input& values, const Input& value_range, const Input& nbins,
                           DType dtype) {
  return OpBuilder("HistogramFixedWidth")
      .Arg(values)
      .Arg(value_range)
      .Arg(nbins)
      .Attr("dtype", dtype);
}
Output Bucketize(const Input& input, const std::vector<float>& boundaries) {
  return OpBuilder("Bucketize").Arg(input).AttrValueOf("boundaries", AttrValue(boundaries));
}

Output operator+(const Output& x, const Output& y) { return Binary("AddV2", x, y); }
Output operator+(const Output& x, const Input& y) { return Binary("AddV2", x, y); }
Output operator+(const Input& x, const Output& y) { return Binary("AddV2", x, y); }
Output operator-(const Output& x, const Output& y) { return Binary("Sub", x, y); }
Output operator-(const Output& x, const Input& y) { return Binary("Sub", x, y); }
Output operator-(const Input& x, const Output& y) { return Binary("Sub", x, y); }
Output operator*(const Output& x, const Output& y) { return Binary("Mul", x, y); }
Output operator*(const Output& x, const Input& y) { return Binary("Mul", x, y); }
Output operator*(const Input& x, const Output& y) { return Binary("Mul", x, y); }
Output operator/(const Output& x, const Output& y) { return Divide(x, y, x.dtype()); }
Output operator/(const Output& x, const Input& y) { return Divide(x, y, x.dtype()); }
Output operator/(const Input& x, const Output& y) { return Divide(x, y, y.dtype()); }
Output operator-(const Output& x) { return Unary("Neg", x); }

}  // namespace carillon
