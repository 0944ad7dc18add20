// Specs of the ops for strings.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/ops/math_shapes.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// Scalars join with everything; the others must agree.
Status StringJoinShape(ShapeContext& c) {
  PartialShape joined(Shape{});
  bool all_scalars = true, some_unknown = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape input = c.input(i);
    if (!input.has_rank()) some_unknown = true;
    if (!input.has_rank() || input.rank() == 0) continue;
    if (all_scalars) joined = input;
    all_scalars = false;
    CARILLON_ASSIGN_OR_RETURN(joined, MergeShapes(joined, input));
  }
  c.set_output(0, all_scalars && some_unknown ? PartialShape() : joined);
  return absl::OkStatus();
}

Status StringSplitShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 1).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  c.set_output(0, PartialShape{-1, 2});
  c.set_output(1, PartialShape{-1});
  c.set_output(2, PartialShape{2});
  return absl::OkStatus();
}

Status SubstrShape(ShapeContext& c) {
  const PartialShape pos = c.input(1), len = c.input(2);
  if (pos.has_rank()) CARILLON_RETURN_IF_ERROR(c.WithRank(2, pos.rank()).status());
  CARILLON_RETURN_IF_ERROR(MergeShapes(pos, len).status());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, BroadcastShapes(c.input(0), pos));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ReduceJoinShape(ShapeContext& c) {
  if (c.input(1).has_rank() && c.input(1).rank() > 1) {
    return InvalidArgument("reduction_indices should be a scalar or a vector but has shape ",
                           c.input(1).ToString());
  }
  return ShapeReduction(c);
}

// The pattern, and the rewrite where there is one, are scalars.
Status RegexShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
  return ShapeOfInput(c);
}

}  // namespace

void AddStringOps(OpTable& ops) {
  ops.Add("StringJoin(inputs: N * string) -> (output: string)",
          "N: int >= 0; separator: string = ''", StringJoinShape);
  ops.Add(
      "StringSplit(input: string, delimiter: string) -> (indices: int64, values: string, shape: "
      "int64)",
      "skip_empty: bool = true", StringSplitShape);
  ops.Add(
      "StringSplitV2(input: string, sep: string) -> (indices: int64, values: string, shape: int64)",
      "maxsplit: int = -1", StringSplitShape);
  ops.Add("StringLength(input: string) -> (output: int32)", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'",
          ShapeOfInput);
  ops.Add("StringLower(input: string) -> (output: string)", "encoding: string = ''", ShapeOfInput);
  ops.Add("StringUpper(input: string) -> (output: string)", "encoding: string = ''", ShapeOfInput);
  ops.Add("StringStrip(input: string) -> (output: string)", "", ShapeOfInput);
  ops.Add("Substr(input: string, pos: T, len: T) -> (output: string)",
          "T: {index}; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'", SubstrShape);
  ops.Add("AsString(input: T) -> (output: string)",
          "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
          "uint64, bool, variant, string}; precision: int = -1; scientific: bool = false; "
          "shortest: bool = false; width: int = -1; fill: string = ''",
          ShapeOfInput);
  ops.Add("StringToNumber(string_tensor: string) -> (output: out_type)",
          "out_type: {float, double, int32, int64, uint32, uint64} = float", ShapeOfInput);
  ops.Add("StringToHashBucketFast(input: string) -> (output: int64)", "num_buckets: int >= 1",
          ShapeOfInput);
  ops.Add("StringToHashBucket(string_tensor: string) -> (output: int64)", "num_buckets: int >= 1",
          ShapeOfInput);
  ops.Add("StringToHashBucketStrong(input: string) -> (output: int64)",
          "num_buckets: int >= 1; key: list(int)", ShapeOfInput);
  ops.Add("ReduceJoin(inputs: string, reduction_indices: int32) -> (output: string)",
          "keep_dims: bool = false; separator: string = ''", ReduceJoinShape);
  ops.Add(
      "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> "
      "(output: string)",
      "separator: string = ''; Tindices: {index}; Tnumsegments: {index} = int32",
      ShapeUnsortedSegment);
  ops.Add("RegexReplace(input: string, pattern: string, rewrite: string) -> (output: string)",
          "replace_global: bool = true", RegexShape);
  ops.Add("RegexFullMatch(input: string, pattern: string) -> (output: bool)", "", RegexShape);
  ops.Add("StaticRegexFullMatch(input: string) -> (output: bool)", "pattern: string", ShapeOfInput);
  ops.Add("StaticRegexReplace(input: string) -> (output: string)",
          "pattern: string; rewrite: string; replace_global: bool = true", ShapeOfInput);
  ops.Add("EncodeBase64(input: string) -> (output: string)", "pad: bool = false", ShapeOfInput);
  ops.Add("DecodeBase64(input: string) -> (output: string)", "", ShapeOfInput);
}

}  // namespace carillon
