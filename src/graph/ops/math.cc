// Specs of the ops for arithmetic, comparisons, reductions, matrices, segments.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/ops/math_shapes.h"

namespace carillon {

void AddMathOps(OpTable& ops) {
  ops.Add("Add(x: T, y: T) -> (z: T)", "T: {floating, int32, uint8, int16, int8, string, int64}",
          ShapeBroadcast);
  ops.Add("AddV2(x: T, y: T) -> (z: T)", "T: {number}", {commutative, aggregate}, ShapeBroadcast);
  ops.Add("AddN(inputs: N * T) -> (sum: T)", "N: int >= 1; T: {number, variant}",
          {commutative, aggregate}, ShapeMergeInputs);
  ops.Add("AccumulateNV2(inputs: N * T) -> (sum: T)", "N: int >= 1; T: {number}; shape: shape",
          {commutative, aggregate}, ShapeAccumulate);
  ops.Add("Sub(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("Mul(x: T, y: T) -> (z: T)", "T: {number}", {commutative}, ShapeBroadcast);
  ops.Add("MulNoNan(x: T, y: T) -> (z: T)", "T: {floating}", ShapeBroadcast);
  ops.Add("Div(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("RealDiv(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("TruncateDiv(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("FloorDiv(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("FloorMod(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("Mod(x: T, y: T) -> (z: T)", "T: {floating, int32, int64}", ShapeBroadcast);
  ops.Add("TruncateMod(x: T, y: T) -> (z: T)", "T: {floating, int32, int64}", ShapeBroadcast);
  ops.Add("DivNoNan(x: T, y: T) -> (z: T)", "T: {floating}", ShapeBroadcast);
  ops.Add("Pow(x: T, y: T) -> (z: T)", "T: {floating, int32, int16, int8, int64}", ShapeBroadcast);
  ops.Add("Maximum(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("Minimum(x: T, y: T) -> (z: T)", "T: {number}", ShapeBroadcast);
  ops.Add("SquaredDifference(x: T, y: T) -> (z: T)", "T: {floating, int32, int64}", {commutative},
          ShapeBroadcast);
  ops.Add("Neg(x: T) -> (y: T)", "T: {floating, int32, int16, int8, int64}", ShapeOfInput);
  ops.Add("Abs(x: T) -> (y: T)", "T: {floating, int32, int16, int8, int64}", ShapeOfInput);
  ops.Add("Sign(x: T) -> (y: T)", "T: {floating, int32, int16, int8, int64}", ShapeOfInput);
  ops.Add("Exp(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Expm1(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Log(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Log1p(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Sqrt(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Rsqrt(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Square(x: T) -> (y: T)", "T: {number}", ShapeOfInput);
  ops.Add("Reciprocal(x: T) -> (y: T)", "T: {floating, int32, int16, int8, int64}", ShapeOfInput);
  ops.Add("Inv(x: T) -> (y: T)", "T: {floating, int32, int16, int8, int64}", ShapeOfInput);
  ops.Add("Sin(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Cos(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Tan(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Asin(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Acos(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Atan(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Atan2(y: T, x: T) -> (z: T)", "T: {floating}", ShapeBroadcast);
  ops.Add("Sinh(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Cosh(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Tanh(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Asinh(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Acosh(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Atanh(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Sigmoid(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Erf(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Erfc(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Erfinv(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Ndtri(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Lgamma(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Digamma(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Floor(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Ceil(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("Round(x: T) -> (y: T)", "T: {floating, int32, int16, int8, int64}", ShapeOfInput);
  ops.Add("Rint(x: T) -> (y: T)", "T: {floating}", ShapeOfInput);
  ops.Add("IsNan(x: T) -> (y: bool)", "T: {floating}", ShapeOfInput);
  ops.Add("IsInf(x: T) -> (y: bool)", "T: {floating}", ShapeOfInput);
  ops.Add("IsFinite(x: T) -> (y: bool)", "T: {floating}", ShapeOfInput);
  ops.Add("Equal(x: T, y: T) -> (z: bool)", "T: type; incompatible_shape_error: bool = true",
          {commutative}, ShapeEquality);
  ops.Add("NotEqual(x: T, y: T) -> (z: bool)", "T: type; incompatible_shape_error: bool = true",
          {commutative}, ShapeEquality);
  ops.Add("ApproximateEqual(x: T, y: T) -> (z: bool)",
          "T: {number}; tolerance: float = 9.99999975e-06", {commutative}, ShapeMergeInputs);
  ops.Add("Less(x: T, y: T) -> (z: bool)", "T: {number}", ShapeBroadcast);
  ops.Add("LessEqual(x: T, y: T) -> (z: bool)", "T: {number}", ShapeBroadcast);
  ops.Add("Greater(x: T, y: T) -> (z: bool)", "T: {number}", ShapeBroadcast);
  ops.Add("GreaterEqual(x: T, y: T) -> (z: bool)", "T: {number}", ShapeBroadcast);
  ops.Add("LogicalAnd(x: bool, y: bool) -> (z: bool)", "", {commutative}, ShapeBroadcast);
  ops.Add("LogicalOr(x: bool, y: bool) -> (z: bool)", "", {commutative}, ShapeBroadcast);
  ops.Add("LogicalNot(x: bool) -> (y: bool)", "", ShapeOfInput);
  ops.Add("Sum(input: T, reduction_indices: Tidx) -> (output: T)",
          "keep_dims: bool = false; T: {number}; Tidx: {index} = int32", ShapeReduction);
  ops.Add("Mean(input: T, reduction_indices: Tidx) -> (output: T)",
          "keep_dims: bool = false; T: {number}; Tidx: {index} = int32", ShapeReduction);
  ops.Add("Prod(input: T, reduction_indices: Tidx) -> (output: T)",
          "keep_dims: bool = false; T: {number}; Tidx: {index} = int32", ShapeReduction);
  ops.Add("Max(input: T, reduction_indices: Tidx) -> (output: T)",
          "keep_dims: bool = false; T: {number}; Tidx: {index} = int32", ShapeReduction);
  ops.Add("Min(input: T, reduction_indices: Tidx) -> (output: T)",
          "keep_dims: bool = false; T: {number}; Tidx: {index} = int32", ShapeReduction);
  ops.Add("All(input: bool, reduction_indices: Tidx) -> (output: bool)",
          "keep_dims: bool = false; Tidx: {index} = int32", ShapeReduction);
  ops.Add("Any(input: bool, reduction_indices: Tidx) -> (output: bool)",
          "keep_dims: bool = false; Tidx: {index} = int32", ShapeReduction);
  ops.Add("ArgMax(input: T, dimension: Tidx) -> (output: output_type)",
          "T: {number, bool}; Tidx: {int32, int16, int64} = int32; output_type: {int32, int16, "
          "int64, uint16} = int64",
          ShapeArgExtreme);
  ops.Add("ArgMin(input: T, dimension: Tidx) -> (output: output_type)",
          "T: {number, bool}; Tidx: {index} = int32; output_type: {index} = int64",
          ShapeArgExtreme);
  ops.Add("Conj(input: T) -> (output: T)", "T: {variant} = complex64", ShapeOfInput);
  ops.Add("Xdivy(x: T, y: T) -> (z: T)", "T: {floating}", ShapeBroadcast);
  ops.Add("Xlogy(x: T, y: T) -> (z: T)", "T: {floating}", ShapeBroadcast);
  ops.Add("Xlog1py(x: T, y: T) -> (z: T)", "T: {floating}", ShapeBroadcast);
  ops.Add("LeftShift(x: T, y: T) -> (z: T)", "T: {integer}", ShapeBroadcast);
  ops.Add("RightShift(x: T, y: T) -> (z: T)", "T: {integer}", ShapeBroadcast);
  ops.Add("BitwiseAnd(x: T, y: T) -> (z: T)", "T: {integer}", {commutative}, ShapeBroadcast);
  ops.Add("BitwiseOr(x: T, y: T) -> (z: T)", "T: {integer}", {commutative}, ShapeBroadcast);
  ops.Add("BitwiseXor(x: T, y: T) -> (z: T)", "T: {integer}", {commutative}, ShapeBroadcast);
  ops.Add("Invert(x: T) -> (y: T)", "T: {integer}", ShapeOfInput);
  ops.Add("EuclideanNorm(input: T, reduction_indices: Tidx) -> (output: T)",
          "keep_dims: bool = false; T: {number}; Tidx: {index} = int32", ShapeReduction);
  ops.Add("Cumsum(x: T, axis: Tidx) -> (out: T)",
          "exclusive: bool = false; reverse: bool = false; T: {number}; Tidx: {index} = int32",
          ShapeOfInput);
  ops.Add("Cumprod(x: T, axis: Tidx) -> (out: T)",
          "exclusive: bool = false; reverse: bool = false; T: {number}; Tidx: {index} = int32",
          ShapeOfInput);
  ops.Add("MatMul(a: T, b: T) -> (product: T)",
          "transpose_a: bool = false; transpose_b: bool = false; T: {floating, int32, uint8, "
          "int64, uint16, uint32, uint64}; grad_a: bool = false; grad_b: bool = false",
          ShapeMatMul);
  ops.Add("BatchMatMul(x: T, y: T) -> (output: T)",
          "T: {floating, int32, int64}; adj_x: bool = false; adj_y: bool = false; grad_x: bool = "
          "false; grad_y: bool = false",
          ShapeBatchMatMul);
  ops.Add("BatchMatMulV2(x: T, y: T) -> (output: T)",
          "T: {floating, int32, uint8, int16, int64, uint16, uint32, uint64}; adj_x: bool = false; "
          "adj_y: bool = false; grad_x: bool = false; grad_y: bool = false",
          ShapeBatchMatMulV2);
  ops.Add("BatchMatMulV3(x: Ta, y: Tb) -> (output: Tout)",
          "Ta: {floating, int32, uint8, int16, int8, int64}; Tb: {floating, int32, uint8, int16, "
          "int8, int64}; Tout: {floating, int32, int16, int64}; adj_x: bool = false; adj_y: bool = "
          "false; grad_x: bool = false; grad_y: bool = false",
          ShapeBatchMatMulV2);
  ops.Add("ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)", "T: {number}",
          ShapeOfInput);
  ops.Add("TopK(input: T) -> (values: T, indices: int32)",
          "k: int >= 0; sorted: bool = true; T: {number}", ShapeTopK);
  ops.Add("TopKV2(input: T, k: Tk) -> (values: T, indices: index_type)",
          "sorted: bool = true; T: {number}; Tk: {int32, int16, int64} = int32; index_type: "
          "{int32, int16, int64} = int32",
          ShapeTopKV2);
  ops.Add("InTopK(predictions: float, targets: T) -> (precision: bool)",
          "k: int; T: {index} = int32", ShapeInTopK);
  ops.Add("InTopKV2(predictions: float, targets: T, k: T) -> (precision: bool)",
          "T: {index} = int32", ShapeInTopK);
  ops.Add("SegmentSum(data: T, segment_ids: Tindices) -> (output: T)",
          "T: {number}; Tindices: {index}", ShapeSegment);
  ops.Add("SegmentMean(data: T, segment_ids: Tindices) -> (output: T)",
          "T: {number}; Tindices: {index}", ShapeSegment);
  ops.Add("SegmentMax(data: T, segment_ids: Tindices) -> (output: T)",
          "T: {number}; Tindices: {index}", ShapeSegment);
  ops.Add("SegmentMin(data: T, segment_ids: Tindices) -> (output: T)",
          "T: {number}; Tindices: {index}", ShapeSegment);
  ops.Add("SegmentProd(data: T, segment_ids: Tindices) -> (output: T)",
          "T: {number}; Tindices: {index}", ShapeSegment);
  ops.Add(
      "UnsortedSegmentSum(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: "
      "T)",
      "T: {number}; Tindices: {int32, int16, int64}; Tnumsegments: {index} = int32",
      ShapeUnsortedSegment);
  ops.Add(
      "UnsortedSegmentMax(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: "
      "T)",
      "T: {number}; Tindices: {index}; Tnumsegments: {index} = int32", ShapeUnsortedSegment);
  ops.Add(
      "UnsortedSegmentMin(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: "
      "T)",
      "T: {number}; Tindices: {index}; Tnumsegments: {index} = int32", ShapeUnsortedSegment);
  ops.Add(
      "UnsortedSegmentProd(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: "
      "T)",
      "T: {number}; Tindices: {index}; Tnumsegments: {index} = int32", ShapeUnsortedSegment);
  ops.Add("SparseSegmentSum(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
          "T: {number}; Tidx: {index} = int32; Tsegmentids: {index} = int32; sparse_gradient: bool "
          "= false",
          ShapeSparseSegment);
  ops.Add("SparseSegmentMean(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
          "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32; sparse_gradient: "
          "bool = false",
          ShapeSparseSegment);
  ops.Add("SparseSegmentSqrtN(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)",
          "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32; sparse_gradient: "
          "bool = false",
          ShapeSparseSegment);
  ops.Add(
      "SparseSegmentSumGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) "
      "-> (output: T)",
      "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32", ShapeSparseSegmentGrad);
  ops.Add(
      "SparseSegmentMeanGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) "
      "-> (output: T)",
      "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32", ShapeSparseSegmentGrad);
  ops.Add(
      "SparseSegmentSqrtNGrad(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: "
      "int32) -> (output: T)",
      "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32", ShapeSparseSegmentGrad);
  ops.Add(
      "SparseSegmentSumGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: "
      "int32) -> (output: T, sorted_unique_indices: Tidx)",
      "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32",
      ShapeSparseSegmentGradV2);
  ops.Add(
      "SparseSegmentMeanGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, "
      "dense_output_dim0: "
      "int32) -> (output: T, sorted_unique_indices: Tidx)",
      "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32",
      ShapeSparseSegmentGradV2);
  ops.Add(
      "SparseSegmentSqrtNGradV2(grad: T, indices: Tidx, segment_ids: Tsegmentids, "
      "dense_output_dim0: "
      "int32) -> (output: T, sorted_unique_indices: Tidx)",
      "T: {floating}; Tidx: {index} = int32; Tsegmentids: {index} = int32",
      ShapeSparseSegmentGradV2);
  ops.Add(
      "SparseSegmentSumWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, "
      "num_segments: Tnumsegments) -> (output: T)",
      "T: {number}; Tidx: {index} = int32; Tnumsegments: {index} = int32; Tsegmentids: {index} = "
      "int32; sparse_gradient: bool = false",
      ShapeSparseSegment);
  ops.Add(
      "SparseSegmentMeanWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, "
      "num_segments: Tnumsegments) -> (output: T)",
      "T: {floating}; Tidx: {index} = int32; Tnumsegments: {index} = int32; Tsegmentids: {index} = "
      "int32; sparse_gradient: bool = false",
      ShapeSparseSegment);
  ops.Add(
      "SparseSegmentSqrtNWithNumSegments(data: T, indices: Tidx, segment_ids: Tsegmentids, "
      "num_segments: Tnumsegments) -> (output: T)",
      "T: {floating}; Tidx: {index} = int32; Tnumsegments: {index} = int32; Tsegmentids: {index} = "
      "int32; sparse_gradient: bool = false",
      ShapeSparseSegment);
  ops.Add("Bincount(arr: int32, size: int32, weights: T) -> (bins: T)",
          "T: {float, double, int32, int64}", ShapeBincount);
  ops.Add("DenseBincount(input: Tidx, size: Tidx, weights: T) -> (output: T)",
          "Tidx: {index}; T: {float, double, int32, int64}; binary_output: bool = false",
          ShapeDenseBincount);
  ops.Add("SqrtGrad(y: T, dy: T) -> (z: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("RsqrtGrad(y: T, dy: T) -> (z: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("TanhGrad(y: T, dy: T) -> (z: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("SigmoidGrad(y: T, dy: T) -> (z: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("ReciprocalGrad(y: T, dy: T) -> (z: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("InvGrad(y: T, dy: T) -> (z: T)", "T: {floating}", ShapeMergeInputs);
  ops.Add("Cross(a: T, b: T) -> (product: T)", "T: {number}", ShapeCross);
  ops.Add("HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> (out: dtype)",
          "T: {float, double, int32, int64}; dtype: {index} = int32", ShapeHistogram);
  ops.Add("Bucketize(input: T) -> (output: int32)",
          "T: {float, double, int32, int64}; boundaries: list(float)", ShapeOfInput);
}

}  // namespace carillon
