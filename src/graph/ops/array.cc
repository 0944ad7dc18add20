// Specs of the ops for making, moving and reshaping tensors.
#include "graph/op_spec.h"
#include "graph/ops/array_shapes.h"
#include "graph/ops/families.h"

namespace carillon {

void AddArrayOps(OpTable& ops) {
  ops.Add("Const() -> (output: dtype)", "value: tensor; dtype: type", ShapeConst);
  ops.Add("Placeholder() -> (output: dtype)", "dtype: type; shape: shape = ?", ShapeOfAttr);
  ops.Add("PlaceholderWithDefault(input: dtype) -> (output: dtype)", "dtype: type; shape: shape",
          ShapePlaceholderWithDefault);
  ops.Add("PlaceholderV2() -> (output: dtype)", "dtype: type; shape: shape", ShapeOfAttr);
  ops.Add("Identity(input: T) -> (output: T)", "T: type", ShapeOfInput);
  ops.Add("IdentityN(input: list(T)) -> (output: list(T))", "T: list(type) >= 1", ShapeOfEachInput);
  ops.Add("Snapshot(input: T) -> (output: T)", "T: type", ShapeOfInput);
  ops.Add("DeepCopy(x: T) -> (y: T)", "T: type", {stateful}, ShapeOfInput);
  ops.Add("Shape(input: T) -> (output: out_type)", "T: type; out_type: {index} = int32",
          ShapeShape);
  ops.Add("ShapeN(input: N * T) -> (output: N * out_type)",
          "N: int >= 1; T: type; out_type: {index} = int32", ShapeShape);
  ops.Add("Size(input: T) -> (output: out_type)", "T: type; out_type: {index} = int32",
          ShapeScalar);
  ops.Add("Rank(input: T) -> (output: int32)", "T: type", ShapeScalar);
  ops.Add("Reshape(tensor: T, shape: Tshape) -> (output: T)", "T: type; Tshape: {index} = int32",
          ShapeReshape);
  ops.Add("ExpandDims(input: T, dim: Tdim) -> (output: T)", "T: type; Tdim: {index} = int32",
          ShapeExpandDims);
  ops.Add("Squeeze(input: T) -> (output: T)", "T: type; squeeze_dims: list(int) >= 0 = []",
          ShapeSqueeze);
  ops.Add("Transpose(x: T, perm: Tperm) -> (y: T)", "T: type; Tperm: {index} = int32",
          ShapeTranspose);
  ops.Add("ConjugateTranspose(x: T, perm: Tperm) -> (y: T)", "T: type; Tperm: {index} = int32",
          ShapeTranspose);
  ops.Add("Concat(concat_dim: int32, values: N * T) -> (output: T)", "N: int >= 2; T: type",
          ShapeConcat);
  ops.Add("ConcatV2(values: N * T, axis: Tidx) -> (output: T)",
          "N: int >= 2; T: type; Tidx: {index} = int32", ShapeConcatV2);
  ops.Add("ConcatOffset(concat_dim: int32, shape: N * shape_type) -> (offset: N * shape_type)",
          "N: int >= 2; shape_type: {index} = int32", ShapeConcatOffset);
  ops.Add("Split(split_dim: int32, value: T) -> (output: num_split * T)",
          "num_split: int >= 1; T: type", ShapeSplit);
  ops.Add("SplitV(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split * T)",
          "num_split: int >= 1; T: type; Tlen: {int32, int8, int64} = int64", ShapeSplitV);
  ops.Add("Slice(input: T, begin: Index, size: Index) -> (output: T)", "T: type; Index: {index}",
          ShapeSlice);
  ops.Add("StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> (output: T)",
          "T: type; Index: {int32, int16, int64}; begin_mask: int = 0; end_mask: int = 0; "
          "ellipsis_mask: int = 0; new_axis_mask: int = 0; shrink_axis_mask: int = 0",
          ShapeStridedSlice);
  ops.Add(
      "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: "
      "T)",
      "T: type; Index: {index}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; "
      "new_axis_mask: int = 0; shrink_axis_mask: int = 0",
      ShapeStridedSliceGrad);
  ops.Add(
      "StridedSliceAssign(ref: ref(T), begin: Index, end: Index, strides: Index, value: T) -> "
      "(output_ref: ref(T))",
      "T: type; Index: {index}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; "
      "new_axis_mask: int = 0; shrink_axis_mask: int = 0",
      ShapeOfInput);
  ops.Add(
      "ResourceStridedSliceAssign(ref: resource, begin: Index, end: Index, strides: Index, value: "
      "T) -> ()",
      "T: type; Index: {index}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; "
      "new_axis_mask: int = 0; shrink_axis_mask: int = 0",
      {stateful}, ShapeNothing);
  ops.Add("Pack(values: N * T) -> (output: T)", "N: int >= 1; T: type; axis: int = 0", ShapePack);
  ops.Add("Unpack(value: T) -> (output: num * T)", "num: int >= 0; T: type; axis: int = 0",
          ShapeUnpack);
  ops.Add("Tile(input: T, multiples: Tmultiples) -> (output: T)",
          "T: type; Tmultiples: {index} = int32", ShapeTile);
  ops.Add("Pad(input: T, paddings: Tpaddings) -> (output: T)",
          "T: type; Tpaddings: {index} = int32", ShapePad);
  ops.Add("PadV2(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)",
          "T: type; Tpaddings: {index} = int32", ShapePadV2);
  ops.Add("MirrorPad(input: T, paddings: Tpaddings) -> (output: T)",
          "T: type; Tpaddings: {index} = int32; mode: {'REFLECT', 'SYMMETRIC'}", ShapePad);
  ops.Add("MirrorPadGrad(input: T, paddings: Tpaddings) -> (output: T)",
          "T: type; Tpaddings: {index} = int32; mode: {'REFLECT', 'SYMMETRIC'}",
          ShapeMirrorPadGrad);
  ops.Add("Gather(params: Tparams, indices: Tindices) -> (output: Tparams)",
          "validate_indices: bool = true; Tparams: type; Tindices: {index}", ShapeGather);
  ops.Add("GatherV2(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)",
          "batch_dims: int = 0; Tparams: type; Tindices: {int32, int16, int64}; Taxis: {index}",
          ShapeGatherV2);
  ops.Add("GatherNd(params: Tparams, indices: Tindices) -> (output: Tparams)",
          "Tparams: type; Tindices: {int32, int16, int64}; bad_indices_policy: string = ''",
          ShapeGatherNd);
  ops.Add("ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> (output: T)",
          "T: type; Tindices: {int32, int16, int64}; bad_indices_policy: string = ''",
          ShapeScatterNd);
  ops.Add("TensorScatterUpdate(tensor: T, indices: Tindices, updates: T) -> (output: T)",
          "T: type; Tindices: {int32, int16, int64, uint16}; bad_indices_policy: string = ''",
          ShapeTensorScatter);
  ops.Add("TensorScatterAdd(tensor: T, indices: Tindices, updates: T) -> (output: T)",
          "T: type; Tindices: {index}; bad_indices_policy: string = ''", ShapeTensorScatter);
  ops.Add("TensorScatterSub(tensor: T, indices: Tindices, updates: T) -> (output: T)",
          "T: type; Tindices: {index}; bad_indices_policy: string = ''", ShapeTensorScatter);
  ops.Add("OneHot(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)",
          "axis: int = -1; T: type; TI: {int32, uint8, int8, int64} = int64", ShapeOneHot);
  ops.Add("Fill(dims: index_type, value: T) -> (output: T)", "T: type; index_type: {index} = int32",
          ShapeFill);
  ops.Add("ZerosLike(x: T) -> (y: T)", "T: type", ShapeOfInput);
  ops.Add("OnesLike(x: T) -> (y: T)", "T: {number, bool}", ShapeOfInput);
  ops.Add("Empty(shape: int32) -> (output: dtype)", "dtype: type; init: bool = false", {stateful},
          ShapeEmpty);
  ops.Add("Range(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)",
          "Tidx: {floating, int32, int16, int8, int64, uint16, uint32, uint64} = int32",
          ShapeRange);
  ops.Add("LinSpace(start: T, stop: T, num: Tidx) -> (output: T)",
          "T: {floating}; Tidx: {index} = int32", ShapeLinSpace);
  ops.Add("Where(input: T) -> (index: int64)", "T: {number, bool} = bool", ShapeWhere);
  ops.Add("Select(condition: bool, t: T, e: T) -> (output: T)", "T: type", ShapeSelect);
  ops.Add("SelectV2(condition: bool, t: T, e: T) -> (output: T)", "T: type", ShapeSelectV2);
  ops.Add("ReverseV2(tensor: T, axis: Tidx) -> (output: T)",
          "Tidx: {index} = int32; T: {number, string, bool}", ShapeReverse);
  ops.Add("ReverseSequence(input: T, seq_lengths: Tlen) -> (output: T)",
          "seq_dim: int; batch_dim: int = 0; T: type; Tlen: {index} = int64", ShapeReverseSequence);
  ops.Add("BroadcastTo(input: T, shape: Tidx) -> (output: T)", "T: type; Tidx: {index} = int32",
          ShapeBroadcastTo);
  ops.Add("BroadcastArgs(s0: T, s1: T) -> (r0: T)", "T: {index} = int32", ShapeBroadcastArgs);
  ops.Add("BroadcastGradientArgs(s0: T, s1: T) -> (r0: T, r1: T)", "T: {index} = int32",
          ShapeBroadcastGradientArgs);
  ops.Add("StopGradient(input: T) -> (output: T)", "T: type", ShapeOfInput);
  ops.Add("PreventGradient(input: T) -> (output: T)", "T: type; message: string = ''",
          ShapeOfInput);
  ops.Add("InvertPermutation(x: T) -> (y: T)", "T: {index} = int32", ShapeInvertPermutation);
  ops.Add("ListDiff(x: T, y: T) -> (out: T, idx: out_idx)", "T: type; out_idx: {index} = int32",
          ShapeListDiff);
  ops.Add("ParallelDynamicStitch(indices: N * int32, data: N * T) -> (merged: T)",
          "N: int >= 1; T: type", ShapeDynamicStitch);
  ops.Add("Roll(input: T, shift: Tshift, axis: Taxis) -> (output: T)",
          "T: type; Tshift: {index}; Taxis: {index}", ShapeRoll);
  ops.Add("Unique(x: T) -> (y: T, idx: out_idx)", "T: type; out_idx: {index} = int32", ShapeUnique);
  ops.Add("UniqueV2(x: T, axis: Taxis) -> (y: T, idx: out_idx)",
          "T: type; Taxis: {index} = int64; out_idx: {index} = int32", ShapeUnique);
  ops.Add("UniqueWithCounts(x: T) -> (y: T, idx: out_idx, count: out_idx)",
          "T: type; out_idx: {index} = int32", ShapeUnique);
  ops.Add("UniqueWithCountsV2(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)",
          "T: type; Taxis: {index} = int64; out_idx: {index} = int32", ShapeUnique);
  ops.Add("DynamicPartition(data: T, partitions: int32) -> (outputs: num_partitions * T)",
          "num_partitions: int >= 1; T: type", ShapeDynamicPartition);
  ops.Add("DynamicStitch(indices: N * int32, data: N * T) -> (merged: T)", "N: int >= 1; T: type",
          ShapeDynamicStitch);
  ops.Add("Cast(x: SrcT) -> (y: DstT)", "SrcT: type; DstT: type; Truncate: bool = false",
          ShapeOfInput);
  ops.Add("Bitcast(input: T) -> (output: type)", "T: {number}; type: {number}", ShapeBitcast);
  ops.Add("CheckNumerics(tensor: T) -> (output: T)", "T: {floating}; message: string", {stateful},
          ShapeOfInput);
  ops.Add("CheckNumericsV2(tensor: T) -> (output: T)", "T: {floating}; message: string", {stateful},
          ShapeOfInput);
  ops.Add("Diag(diagonal: T) -> (output: T)", "T: {floating, int32, int64}", ShapeDiag);
  ops.Add("DiagPart(input: T) -> (diagonal: T)", "T: {floating, int32, int64}", ShapeDiagPart);
  ops.Add("MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)",
          "T: type; Tindex: {index} = int64", ShapeMatrixBandPart);
  ops.Add("MatrixDiag(diagonal: T) -> (output: T)", "T: type", ShapeMatrixDiag);
  ops.Add("MatrixDiagPart(input: T) -> (diagonal: T)", "T: type", ShapeMatrixDiagPart);
  ops.Add("MatrixSetDiag(input: T, diagonal: T) -> (output: T)", "T: type", ShapeMatrixSetDiag);
  constexpr std::string_view kAlign =
      "T: type; align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'";
  ops.Add(
      "MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> "
      "(output: T)",
      "T: type", ShapeMatrixDiagV2);
  ops.Add(
      "MatrixDiagV3(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> "
      "(output: T)",
      kAlign, ShapeMatrixDiagV2);
  ops.Add("MatrixDiagPartV2(input: T, k: int32, padding_value: T) -> (diagonal: T)", "T: type",
          ShapeMatrixDiagPartV2);
  ops.Add("MatrixDiagPartV3(input: T, k: int32, padding_value: T) -> (diagonal: T)", kAlign,
          ShapeMatrixDiagPartV2);
  ops.Add("MatrixSetDiagV2(input: T, diagonal: T, k: int32) -> (output: T)", "T: type",
          ShapeMatrixSetDiagV2);
  ops.Add("MatrixSetDiagV3(input: T, diagonal: T, k: int32) -> (output: T)", kAlign,
          ShapeMatrixSetDiagV2);
  ops.Add("SpaceToBatch(input: T, paddings: Tpaddings) -> (output: T)",
          "T: type; Tpaddings: {index} = int32; block_size: int >= 2", ShapeSpaceToBatch);
  ops.Add("BatchToSpace(input: T, crops: Tidx) -> (output: T)",
          "T: type; block_size: int >= 2; Tidx: {index} = int32", ShapeBatchToSpace);
  ops.Add("SpaceToBatchND(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)",
          "T: type; Tblock_shape: {index} = int32; Tpaddings: {index} = int32",
          ShapeSpaceToBatchNd);
  ops.Add("BatchToSpaceND(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)",
          "T: type; Tblock_shape: {index} = int32; Tcrops: {index} = int32", ShapeBatchToSpaceNd);
  ops.Add("DepthToSpace(input: T) -> (output: T)",
          "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
          ShapeDepthToSpace);
  ops.Add("SpaceToDepth(input: T) -> (output: T)",
          "T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
          ShapeSpaceToDepth);
  ops.Add("EnsureShape(input: T) -> (output: T)", "shape: shape; T: type", ShapeEnsure);
  ops.Add(
      "DenseToDenseSetOperation(set1: T, set2: T) -> (result_indices: int64, result_values: T, "
      "result_shape: int64)",
      "set_operation: string; validate_indices: bool = true; T: {int32, uint8, int16, int8, "
      "string, int64, uint16}",
      ShapeDenseSets);
  ops.Add(
      "SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, "
      "default_value: T) -> (dense: T)",
      "validate_indices: bool = true; T: type; Tindices: {index}", ShapeSparseToDense);
  ops.Add("UpperBound(sorted_inputs: T, values: T) -> (output: out_type)",
          "T: type; out_type: {index} = int32", ShapeBound);
  ops.Add("LowerBound(sorted_inputs: T, values: T) -> (output: out_type)",
          "T: type; out_type: {index} = int32", ShapeBound);
  ops.Add(
      "TensorStridedSliceUpdate(input: T, begin: Index, end: Index, strides: Index, value: T) -> "
      "(output: T)",
      "T: type; Index: {index}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; "
      "new_axis_mask: int = 0; shrink_axis_mask: int = 0",
      ShapeOfInput);
}

}  // namespace carillon
