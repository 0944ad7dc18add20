#include "carillon/ops/array.h"

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/attr.h"

namespace carillon {
namespace {

Output Unary(const char* op, const Input& x) { return OpBuilder(op).Arg(x); }

Output Binary(const char* op, const Input& x, const Input& y) {
  return OpBuilder(op).Arg(x).Arg(y);
}

Output Ternary(const char* op, const Input& x, const Input& y, const Input& z) {
  return OpBuilder(op).Arg(x).Arg(y).Arg(z);
}

std::vector<Output> AllOutputs(const Operation& op) {
  std::vector<Output> outputs;
  for (int i = 0; i < op.num_outputs(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

// The slice arguments that follow the first one.
OpBuilder& SliceArgs(OpBuilder& builder, const Input& begin, const Input& end,
                     const Input& strides) {
  return builder.Arg(begin).Arg(end).Arg(strides);
}

Operation BuildSlice(OpBuilder& builder, const StridedSliceOptions& options) {
  return builder.Attr("begin_mask", options.begin_mask)
      .Attr("end_mask", options.end_mask)
      .Attr("ellipsis_mask", options.ellipsis_mask)
      .Attr("new_axis_mask", options.new_axis_mask)
      .Attr("shrink_axis_mask", options.shrink_axis_mask)
      .Build();
}

Output Stitch(const char* op, const std::vector<Output>& indices, const std::vector<Output>& data) {
  return OpBuilder(op).Args(indices).Args(data);
}

UniqueOutputs UniqueOf(OpBuilder& builder, DType out_idx) {
  const Operation op = builder.Attr("out_idx", out_idx).Build();
  return {op.output(0), op.output(1), op.num_outputs() > 2 ? op.output(2) : Output()};
}

// [rank - 1, …, 0]
Output ReversedAxes(const Output& x) {
  if (!x.shape().has_rank()) {
    const Output last = OpBuilder("Sub").Arg(Rank(x)).Arg(1);
    return OpBuilder(x.graph(), "Range").Arg(last).Arg(-1).Arg(-1);
  }
  std::vector<int32_t> axes;
  for (int i = x.shape().rank(); i-- > 0;) axes.push_back(i);
  return Const(x.graph(), Tensor::FromVector(axes));
}

}  // namespace

Output Const(Graph& graph, const Input& value, std::string_view name) {
  if (value.is_output() || !value.valid()) {
    Throw(InvalidArgument("a constant is made of a literal or a tensor, not of an output"));
  }
  return OpBuilder(graph, "Const")
      .Name(name)
      .Attr("value", value.value())
      .Attr("dtype", value.value().dtype());
}
Output Placeholder(Graph& graph, DType dtype, const PartialShape& shape, std::string_view name) {
  return OpBuilder(graph, "Placeholder").Name(name).Attr("dtype", dtype).Attr("shape", shape);
}
Output PlaceholderWithDefault(const Input& input, const PartialShape& shape,
                              std::string_view name) {
  return OpBuilder("PlaceholderWithDefault").Name(name).Arg(input).Attr("shape", shape);
}
Output Identity(const Input& input, std::string_view name) {
  return OpBuilder("Identity").Name(name).Arg(input);
}
std::vector<Output> IdentityN(const std::vector<Output>& inputs) {
  return AllOutputs(OpBuilder("IdentityN").Args(inputs).Build());
}
Output DeepCopy(const Input& x) { return Unary("DeepCopy", x); }
Output Snapshot(const Input& input) { return Unary("Snapshot", input); }
Output StopGradient(const Input& input) { return Unary("StopGradient", input); }
Output PreventGradient(const Input& input, const std::string& message) {
  return OpBuilder("PreventGradient").Arg(input).Attr("message", message);
}
Output EnsureShape(const Input& input, const PartialShape& shape) {
  return OpBuilder("EnsureShape").Arg(input).Attr("shape", shape);
}
Output CheckNumerics(const Input& tensor, const std::string& message) {
  return OpBuilder("CheckNumerics").Arg(tensor).Attr("message", message);
}

Output ShapeOf(const Input& input, DType out_type) {
  return OpBuilder("Shape").Arg(input).Attr("out_type", out_type);
}
std::vector<Output> ShapeN(const std::vector<Output>& inputs, DType out_type) {
  return AllOutputs(OpBuilder("ShapeN").Args(inputs).Attr("out_type", out_type).Build());
}
Output Size(const Input& input, DType out_type) {
  return OpBuilder("Size").Arg(input).Attr("out_type", out_type);
}
Output Rank(const Input& input) { return Unary("Rank", input); }
Output Reshape(const Input& tensor, const Input& shape) { return Binary("Reshape", tensor, shape); }
Output ExpandDims(const Input& input, const Input& axis) {
  return Binary("ExpandDims", input, axis);
}
Output Squeeze(const Input& input, const std::vector<int64_t>& axes) {
  return OpBuilder("Squeeze").Arg(input).Attr("squeeze_dims", axes);
}
Output Transpose(const Input& x, const Input& perm) {
  if (perm.valid()) return Binary("Transpose", x, perm);
  if (!x.is_output()) {
    Throw(InvalidArgument("the transpose of a literal has no graph: give it an Output"));
  }
  return Binary("Transpose", x, ReversedAxes(x.output()));
}
Output BroadcastArgs(const Input& s0, const Input& s1) { return Binary("BroadcastArgs", s0, s1); }
BroadcastGradientArgsOutputs BroadcastGradientArgs(const Input& s0, const Input& s1) {
  const Operation op = OpBuilder("BroadcastGradientArgs").Arg(s0).Arg(s1).Build();
  return {op.output(0), op.output(1)};
}

Output Concat(const std::vector<Output>& values, const Input& axis) {
  return OpBuilder("ConcatV2").Args(values).Arg(axis);
}
std::vector<Output> ConcatOffset(const Input& axis, const std::vector<Output>& shapes) {
  return AllOutputs(OpBuilder("ConcatOffset").Arg(axis).Args(shapes).Build());
}
std::vector<Output> Split(const Input& axis, const Input& value, int num_split) {
  return AllOutputs(OpBuilder("Split").Arg(axis).Arg(value).Attr("num_split", num_split).Build());
}
std::vector<Output> SplitV(const Input& value, const Input& sizes, const Input& axis,
                           int num_split) {
  return AllOutputs(
      OpBuilder("SplitV").Arg(value).Arg(sizes).Arg(axis).Attr("num_split", num_split).Build());
}
Output Pack(const std::vector<Output>& values, int axis) {
  return OpBuilder("Pack").Args(values).Attr("axis", axis);
}
std::vector<Output> Unpack(const Input& value, int num, int axis) {
  return AllOutputs(OpBuilder("Unpack").Arg(value).Attr("num", num).Attr("axis", axis).Build());
}
std::vector<Output> DynamicPartition(const Input& data, const Input& partitions,
                                     int num_partitions) {
  return AllOutputs(OpBuilder("DynamicPartition")
                        .Arg(data)
                        .Arg(partitions)
                        .Attr("num_partitions", num_partitions)
                        .Build());
}
Output DynamicStitch(const std::vector<Output>& indices, const std::vector<Output>& data) {
  return Stitch("DynamicStitch", indices, data);
}
Output ParallelDynamicStitch(const std::vector<Output>& indices, const std::vector<Output>& data) {
  return Stitch("ParallelDynamicStitch", indices, data);
}

Output Slice(const Input& input, const Input& begin, const Input& size) {
  return Ternary("Slice", input, begin, size);
}
Output StridedSlice(const Input& input, const Input& begin, const Input& end, const Input& strides,
                    const StridedSliceOptions& options) {
  OpBuilder builder("StridedSlice");
  SliceArgs(builder.Arg(input), begin, end, strides);
  return BuildSlice(builder, options).output(0);
}
Output StridedSliceGrad(const Input& shape, const Input& begin, const Input& end,
                        const Input& strides, const Input& dy, const StridedSliceOptions& options) {
  OpBuilder builder("StridedSliceGrad");
  SliceArgs(builder.Arg(shape), begin, end, strides).Arg(dy);
  return BuildSlice(builder, options).output(0);
}
Output TensorStridedSliceUpdate(const Input& input, const Input& begin, const Input& end,
                                const Input& strides, const Input& value,
                                const StridedSliceOptions& options) {
  OpBuilder builder("TensorStridedSliceUpdate");
  SliceArgs(builder.Arg(input), begin, end, strides).Arg(value);
  return BuildSlice(builder, options).output(0);
}
Output StridedSliceAssign(const Output& ref, const Input& begin, const Input& end,
                          const Input& strides, const Input& value,
                          const StridedSliceOptions& options) {
  OpBuilder builder("StridedSliceAssign");
  SliceArgs(builder.Arg(ref), begin, end, strides).Arg(value);
  return BuildSlice(builder, options).output(0);
}
Operation ResourceStridedSliceAssign(const Output& handle, const Input& begin, const Input& end,
                                     const Input& strides, const Input& value,
                                     const StridedSliceOptions& options) {
  OpBuilder builder("ResourceStridedSliceAssign");
  SliceArgs(builder.Arg(handle), begin, end, strides).Arg(value);
  return BuildSlice(builder, options);
}
Output Gather(const Input& params, const Input& indices, const Input& axis, int batch_dims) {
  return OpBuilder("GatherV2").Arg(params).Arg(indices).Arg(axis).Attr("batch_dims", batch_dims);
}
Output GatherNd(const Input& params, const Input& indices) {
  return Binary("GatherNd", params, indices);
}
Output ScatterNd(const Input& indices, const Input& updates, const Input& shape) {
  return Ternary("ScatterNd", indices, updates, shape);
}
Output TensorScatterUpdate(const Input& tensor, const Input& indices, const Input& updates) {
  return Ternary("TensorScatterUpdate", tensor, indices, updates);
}
Output TensorScatterAdd(const Input& tensor, const Input& indices, const Input& updates) {
  return Ternary("TensorScatterAdd", tensor, indices, updates);
}
Output TensorScatterSub(const Input& tensor, const Input& indices, const Input& updates) {
  return Ternary("TensorScatterSub", tensor, indices, updates);
}
Output SparseToDense(const Input& sparse_indices, const Input& output_shape,
                     const Input& sparse_values, const Input& default_value,
                     bool validate_indices) {
  return OpBuilder("SparseToDense")
      .Arg(sparse_indices)
      .Arg(output_shape)
      .Arg(sparse_values)
      .Arg(default_value)
      .Attr("validate_indices", validate_indices);
}

Output Fill(const Output& dims, const Input& value) { return Binary("Fill", dims, value); }
Output Fill(Graph& graph, const Input& dims, const Input& value) {
  return OpBuilder(graph, "Fill").Arg(dims).Arg(value);
}
Output ZerosLike(const Input& x) { return Unary("ZerosLike", x); }
Output OnesLike(const Input& x) { return Unary("OnesLike", x); }
Output Empty(const Output& shape, DType dtype, bool init) {
  return OpBuilder("Empty").Arg(shape).Attr("dtype", dtype).Attr("init", init);
}
Output Range(Graph& graph, const Input& start, const Input& limit, const Input& delta) {
  return OpBuilder(graph, "Range").Arg(start).Arg(limit).Arg(delta);
}
Output LinSpace(Graph& graph, const Input& start, const Input& stop, const Input& num) {
  return OpBuilder(graph, "LinSpace").Arg(start).Arg(stop).Arg(num);
}
Output OneHot(const Input& indices, const Input& depth, const Input& on_value,
              const Input& off_value, int axis) {
  return OpBuilder("OneHot").Arg(indices).Arg(depth).Arg(on_value).Arg(off_value).Attr("axis",
                                                                                       axis);
}

Output Tile(const Input& input, const Input& multiples) { return Binary("Tile", input, multiples); }
Output BroadcastTo(const Input& input, const Input& shape) {
  return Binary("BroadcastTo", input, shape);
}
Output Pad(const Input& input, const Input& paddings) { return Binary("Pad", input, paddings); }
Output PadV2(const Input& input, const Input& paddings, const Input& constant_value) {
  return Ternary("PadV2", input, paddings, constant_value);
}
Output MirrorPad(const Input& input, const Input& paddings, const std::string& mode) {
  return OpBuilder("MirrorPad").Arg(input).Arg(paddings).Attr("mode", mode);
}
Output MirrorPadGrad(const Input& input, const Input& paddings, const std::string& mode) {
  return OpBuilder("MirrorPadGrad").Arg(input).Arg(paddings).Attr("mode", mode);
}
Output Reverse(const Input& tensor, const Input& axes) { return Binary("ReverseV2", tensor, axes); }
Output ReverseSequence(const Input& input, const Input& seq_lengths, int seq_dim, int batch_dim) {
  return OpBuilder("ReverseSequence")
      .Arg(input)
      .Arg(seq_lengths)
      .Attr("seq_dim", seq_dim)
      .Attr("batch_dim", batch_dim);
}
Output Roll(const Input& input, const Input& shift, const Input& axis) {
  return Ternary("Roll", input, shift, axis);
}
Output InvertPermutation(const Input& x) { return Unary("InvertPermutation", x); }

Output Where(const Input& condition) { return Unary("Where", condition); }
Output Select(const Input& condition, const Input& x, const Input& y) {
  return Ternary("Select", condition, x, y);
}
Output SelectV2(const Input& condition, const Input& x, const Input& y) {
  return Ternary("SelectV2", condition, x, y);
}
ListDiffOutputs ListDiff(const Input& x, const Input& y, DType out_idx) {
  const Operation op = OpBuilder("ListDiff").Arg(x).Arg(y).Attr("out_idx", out_idx).Build();
  return {op.output(0), op.output(1)};
}
UniqueOutputs Unique(const Input& x, DType out_idx) {
  return UniqueOf(OpBuilder("Unique").Arg(x), out_idx);
}
UniqueOutputs UniqueWithCounts(const Input& x, DType out_idx) {
  return UniqueOf(OpBuilder("UniqueWithCounts").Arg(x), out_idx);
}
UniqueOutputs UniqueV2(const Input& x, const Input& axis, DType out_idx) {
  return UniqueOf(OpBuilder("UniqueV2").Arg(x).Arg(axis), out_idx);
}
UniqueOutputs UniqueWithCountsV2(const Input& x, const Input& axis, DType out_idx) {
  return UniqueOf(OpBuilder("UniqueWithCountsV2").Arg(x).Arg(axis), out_idx);
}
Output LowerBound(const Input& sorted_inputs, const Input& values, DType out_type) {
  return OpBuilder("LowerBound").Arg(sorted_inputs).Arg(values).Attr("out_type", out_type);
}
Output UpperBound(const Input& sorted_inputs, const Input& values, DType out_type) {
  return OpBuilder("UpperBound").Arg(sorted_inputs).Arg(values).Attr("out_type", out_type);
}
SetOperationOutputs DenseToDenseSetOperation(const Input& set1, const Input& set2,
                                             const std::string& operation) {
  const Operation op = OpBuilder("DenseToDenseSetOperation")
                           .Arg(set1)
                           .Arg(set2)
                           .Attr("set_operation", operation)
                           .Build();
  return {op.output(0), op.output(1), op.output(2)};
}

Output Cast(const Input& x, DType dtype) { return OpBuilder("Cast").Arg(x).Attr("DstT", dtype); }
Output Bitcast(const Input& input, DType type) {
  return OpBuilder("Bitcast").Arg(input).Attr("type", type);
}

Output Diag(const Input& diagonal) { return Unary("Diag", diagonal); }
Output DiagPart(const Input& input) { return Unary("DiagPart", input); }
Output MatrixDiag(const Input& diagonal) { return Unary("MatrixDiag", diagonal); }
Output MatrixDiagPart(const Input& input) { return Unary("MatrixDiagPart", input); }
Output MatrixSetDiag(const Input& input, const Input& diagonal) {
  return Binary("MatrixSetDiag", input, diagonal);
}
Output MatrixDiagV3(const Input& diagonal, const Input& k, const Input& num_rows,
                    const Input& num_cols, const Input& padding_value, const std::string& align) {
  return OpBuilder("MatrixDiagV3")
      .Arg(diagonal)
      .Arg(k)
      .Arg(num_rows)
      .Arg(num_cols)
      .Arg(padding_value)
      .Attr("align", align);
}
Output MatrixDiagPartV3(const Input& input, const Input& k, const Input& padding_value,
                        const std::string& align) {
  return OpBuilder("MatrixDiagPartV3").Arg(input).Arg(k).Arg(padding_value).Attr("align", align);
}
Output MatrixSetDiagV3(const Input& input, const Input& diagonal, const Input& k,
                       const std::string& align) {
  return OpBuilder("MatrixSetDiagV3").Arg(input).Arg(diagonal).Arg(k).Attr("align", align);
}
Output MatrixBandPart(const Input& input, const Input& num_lower, const Input& num_upper) {
  return Ternary("MatrixBandPart", input, num_lower, num_upper);
}

Output SpaceToBatch(const Input& input, const Input& paddings, int block_size) {
  return OpBuilder("SpaceToBatch").Arg(input).Arg(paddings).Attr("block_size", block_size);
}
Output BatchToSpace(const Input& input, const Input& crops, int block_size) {
  return OpBuilder("BatchToSpace").Arg(input).Arg(crops).Attr("block_size", block_size);
}
Output SpaceToBatchND(const Input& input, const Input& block_shape, const Input& paddings) {
  return Ternary("SpaceToBatchND", input, block_shape, paddings);
}
Output BatchToSpaceND(const Input& input, const Input& block_shape, const Input& crops) {
  return Ternary("BatchToSpaceND", input, block_shape, crops);
}
Output SpaceToDepth(const Input& input, int block_size, const std::string& data_format) {
  return OpBuilder("SpaceToDepth")
      .Arg(input)
      .Attr("block_size", block_size)
      .Attr("data_format", data_format);
}
Output DepthToSpace(const Input& input, int block_size, const std::string& data_format) {
  return OpBuilder("DepthToSpace")
      .Arg(input)
      .Attr("block_size", block_size)
      .Attr("data_format", data_format);
}

}  // namespace carillon
