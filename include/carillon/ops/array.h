// Making, moving and reshaping tensors.
//
// Axes may count from the last dimension (-1) unless stated otherwise. Sizes, axes and indices are
// int32 or int64; literals become int32. What does not fit an input is Error(InvalidArgument): here
// as far as it is known when the graph is built, else from the step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Values.

// A literal, a list of them, or a Tensor: Const(g, 0.5f), Const(g, {1, 2, 3}).
Output Const(Graph& graph, const Input& value, std::string_view name = "");
// A value that each step feeds.
Output Placeholder(Graph& graph, DType dtype, const PartialShape& shape = PartialShape(),
                   std::string_view name = "");
// The same, but `input` where a step feeds nothing. What is fed has to fit `shape`.
Output PlaceholderWithDefault(const Input& input, const PartialShape& shape,
                              std::string_view name = "");
Output Identity(const Input& input, std::string_view name = "");
std::vector<Output> IdentityN(const std::vector<Output>& inputs);
// Memory of its own.
Output DeepCopy(const Input& x);
Output Snapshot(const Input& input);
// The input; no gradient flows through it.
Output StopGradient(const Input& input);
// The input; to ask for a gradient through it is an error with this message.
Output PreventGradient(const Input& input, const std::string& message = "");
// The input, of which `shape` is known from then on. Another shape is an error of the step.
Output EnsureShape(const Input& input, const PartialShape& shape);
// The input; NaN or infinite elements are an error of the step, which starts with the message.
Output CheckNumerics(const Input& tensor, const std::string& message);

// Shapes.

// The sizes as a vector.
Output ShapeOf(const Input& input, DType out_type = kInt32);
std::vector<Output> ShapeN(const std::vector<Output>& inputs, DType out_type = kInt32);
// The number of elements.
Output Size(const Input& input, DType out_type = kInt32);
Output Rank(const Input& input);
// One size may be -1: what the others leave over.
Output Reshape(const Input& tensor, const Input& shape);
// A dimension of one before `axis`; -1 puts it last.
Output ExpandDims(const Input& input, const Input& axis);
// Without these dimensions, which are of size one; without all such dimensions by default.
Output Squeeze(const Input& input, const std::vector<int64_t>& axes = {});
// Dimension i of the result is perm[i] of x; all in reverse when perm is left out.
Output Transpose(const Input& x, const Input& perm = Input());
// The shape that two shapes broadcast to.
Output BroadcastArgs(const Input& s0, const Input& s1);
// Over which dimensions the gradients of two broadcast operands are summed.
struct BroadcastGradientArgsOutputs {
  Output r0;
  Output r1;
};
BroadcastGradientArgsOutputs BroadcastGradientArgs(const Input& s0, const Input& s1);

// Joining and taking apart.

Output Concat(const std::vector<Output>& values, const Input& axis);
// Where each of the shapes begins in their concatenation.
std::vector<Output> ConcatOffset(const Input& axis, const std::vector<Output>& shapes);
// Equal parts.
std::vector<Output> Split(const Input& axis, const Input& value, int num_split);
// Parts of these sizes, one of which may be -1: the rest.
std::vector<Output> SplitV(const Input& value, const Input& sizes, const Input& axis,
                           int num_split);
// Values of one shape along a new dimension.
Output Pack(const std::vector<Output>& values, int axis = 0);
std::vector<Output> Unpack(const Input& value, int num, int axis = 0);
// The rows of `data` for which `partitions` says i, as output i.
std::vector<Output> DynamicPartition(const Input& data, const Input& partitions,
                                     int num_partitions);
// merged[indices[m][i]] = data[m][i]; of several for one place the last wins.
Output DynamicStitch(const std::vector<Output>& indices, const std::vector<Output>& data);
// The same, in any order.
Output ParallelDynamicStitch(const std::vector<Output>& indices, const std::vector<Output>& data);

// Parts.

// size[i] elements from begin[i] on; -1: all that are left.
Output Slice(const Input& input, const Input& begin, const Input& size);

// Bit i of each speaks of element i of begin, end and strides: begin or end are left open, the
// element stands for as many dimensions as are left over, it makes a new dimension of one, or it is
// one index rather than a range, so that its dimension vanishes.
struct StridedSliceOptions {
  int begin_mask = 0;
  int end_mask = 0;
  int ellipsis_mask = 0;
  int new_axis_mask = 0;
  int shrink_axis_mask = 0;
};
// input[begin:end:stride, …] as Python has it.
Output StridedSlice(const Input& input, const Input& begin, const Input& end, const Input& strides,
                    const StridedSliceOptions& options = {});
// Zeros of the given shape but for the slice, which is dy.
Output StridedSliceGrad(const Input& shape, const Input& begin, const Input& end,
                        const Input& strides, const Input& dy,
                        const StridedSliceOptions& options = {});
// The input with the slice replaced by `value`, which is broadcast to it.
Output TensorStridedSliceUpdate(const Input& input, const Input& begin, const Input& end,
                                const Input& strides, const Input& value,
                                const StridedSliceOptions& options = {});
// The same in a variable: by reference, and by handle.
Output StridedSliceAssign(const Output& ref, const Input& begin, const Input& end,
                          const Input& strides, const Input& value,
                          const StridedSliceOptions& options = {});
Operation ResourceStridedSliceAssign(const Output& handle, const Input& begin, const Input& end,
                                     const Input& strides, const Input& value,
                                     const StridedSliceOptions& options = {});

// The slices of `params` along `axis` that the indices name. The first batch_dims dimensions of
// params and indices are the same, and gathered one by one.
Output Gather(const Input& params, const Input& indices, const Input& axis = 0, int batch_dims = 0);
// Each row of the indices names a slice by its first dimensions.
Output GatherNd(const Input& params, const Input& indices);
// The reverse into zeros; slices for one place add up.
Output ScatterNd(const Input& indices, const Input& updates, const Input& shape);
// … and into a copy of `tensor`: the last of several wins, they are added, or subtracted.
Output TensorScatterUpdate(const Input& tensor, const Input& indices, const Input& updates);
Output TensorScatterAdd(const Input& tensor, const Input& indices, const Input& updates);
Output TensorScatterSub(const Input& tensor, const Input& indices, const Input& updates);
// default_value but for sparse_values at sparse_indices, which are sorted and unique when
// validate_indices says so.
Output SparseToDense(const Input& sparse_indices, const Input& output_shape,
                     const Input& sparse_values, const Input& default_value,
                     bool validate_indices = true);

// Making tensors.

Output Fill(const Output& dims, const Input& value);
Output Fill(Graph& graph, const Input& dims, const Input& value);
Output ZerosLike(const Input& x);
Output OnesLike(const Input& x);
// With init: zeros. Else whatever the memory holds.
Output Empty(const Output& shape, DType dtype, bool init = false);
// start, start + delta, … without limit itself.
Output Range(Graph& graph, const Input& start, const Input& limit, const Input& delta = 1);
// num values at equal distances, of which the last is stop.
Output LinSpace(Graph& graph, const Input& start, const Input& stop, const Input& num);
// A new dimension of size depth at `axis` (-1: last) that is on_value at the index and off_value
// elsewhere.
Output OneHot(const Input& indices, const Input& depth, const Input& on_value = 1.0f,
              const Input& off_value = 0.0f, int axis = -1);

// Repeating and reordering.

Output Tile(const Input& input, const Input& multiples);
Output BroadcastTo(const Input& input, const Input& shape);
// paddings[i] are the sizes of the borders before and behind dimension i, of zeros.
Output Pad(const Input& input, const Input& paddings);
// … of constant_value.
Output PadV2(const Input& input, const Input& paddings, const Input& constant_value);
// … of the elements inside, mirrored at the edge ("SYMMETRIC") or at its element ("REFLECT").
Output MirrorPad(const Input& input, const Input& paddings, const std::string& mode);
Output MirrorPadGrad(const Input& input, const Input& paddings, const std::string& mode);
Output Reverse(const Input& tensor, const Input& axes);
// Reverses the first seq_lengths[i] elements along seq_dim of row i along batch_dim.
Output ReverseSequence(const Input& input, const Input& seq_lengths, int seq_dim,
                       int batch_dim = 0);
// Elements move up by `shift` along `axis`, and around.
Output Roll(const Input& input, const Input& shift, const Input& axis);
Output InvertPermutation(const Input& x);

// Choosing and comparing.

// Where the elements are not zero: one row of indices for each.
Output Where(const Input& condition);
// x where the condition holds and y elsewhere. x and y have one shape; the condition has it too, or
// is a scalar, or has one element for each row.
Output Select(const Input& condition, const Input& x, const Input& y);
// The same with broadcasting of all three.
Output SelectV2(const Input& condition, const Input& x, const Input& y);

struct ListDiffOutputs {
  Output out;  // the elements of x that are not in y
  Output idx;  // and where they are
};
ListDiffOutputs ListDiff(const Input& x, const Input& y, DType out_idx = kInt32);

struct UniqueOutputs {
  Output y;      // each once, as they first appear
  Output idx;    // x[i] is y[idx[i]]
  Output count;  // how often; only of UniqueWithCounts
};
UniqueOutputs Unique(const Input& x, DType out_idx = kInt32);
UniqueOutputs UniqueWithCounts(const Input& x, DType out_idx = kInt32);
// Of the slices along axis, a vector of one element; of a vector x when that is empty.
UniqueOutputs UniqueV2(const Input& x, const Input& axis, DType out_idx = kInt32);
UniqueOutputs UniqueWithCountsV2(const Input& x, const Input& axis, DType out_idx = kInt32);

// Where values would stand in the rows of sorted_inputs: before equal ones, or behind them.
Output LowerBound(const Input& sorted_inputs, const Input& values, DType out_type = kInt32);
Output UpperBound(const Input& sorted_inputs, const Input& values, DType out_type = kInt32);

// Sets in the last dimension: "a-b", "b-a", "intersection", "union". The result is sparse.
struct SetOperationOutputs {
  Output indices;
  Output values;
  Output shape;
};
SetOperationOutputs DenseToDenseSetOperation(const Input& set1, const Input& set2,
                                             const std::string& operation);

// Types.

// Numbers are converted as C++ does: floats to integers towards zero.
Output Cast(const Input& x, DType dtype);
// The same bytes read as another type. A last dimension is added or vanishes when sizes differ.
Output Bitcast(const Input& input, DType type);

// Matrices.

// A tensor of rank k as the diagonal of one of rank 2k, and back.
Output Diag(const Input& diagonal);
Output DiagPart(const Input& input);
// The same for the matrices in the last two dimensions.
Output MatrixDiag(const Input& diagonal);
Output MatrixDiagPart(const Input& input);
Output MatrixSetDiag(const Input& input, const Input& diagonal);
// The same for the diagonals k (one, or the lower and the upper one; 0 is the main one, those above
// it are positive), which are rows of their own, the upper one first. Short ones are padded on the
// side that `align` says, for those above and for those below the main one. num_rows and num_cols
// are -1 where they follow.
Output MatrixDiagV3(const Input& diagonal, const Input& k, const Input& num_rows,
                    const Input& num_cols, const Input& padding_value,
                    const std::string& align = "RIGHT_LEFT");
Output MatrixDiagPartV3(const Input& input, const Input& k, const Input& padding_value,
                        const std::string& align = "RIGHT_LEFT");
Output MatrixSetDiagV3(const Input& input, const Input& diagonal, const Input& k,
                       const std::string& align = "RIGHT_LEFT");
// Zeros below the first num_lower and above the first num_upper diagonals; a negative number keeps
// all.
Output MatrixBandPart(const Input& input, const Input& num_lower, const Input& num_upper);

// Images. block_size is at least 2.

Output SpaceToBatch(const Input& input, const Input& paddings, int block_size);
Output BatchToSpace(const Input& input, const Input& crops, int block_size);
Output SpaceToBatchND(const Input& input, const Input& block_shape, const Input& paddings);
Output BatchToSpaceND(const Input& input, const Input& block_shape, const Input& crops);
Output SpaceToDepth(const Input& input, int block_size, const std::string& data_format = "NHWC");
Output DepthToSpace(const Input& input, int block_size, const std::string& data_format = "NHWC");

}  // namespace carillon
