// Specs of the ops for strings.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddStringOps(OpTable& ops) {
  ops.Add("StringJoin(inputs: N * string) -> (output: string)",
          "N: int >= 0; separator: string = ''");
  ops.Add(
      "StringSplit(input: string, delimiter: string) -> (indices: int64, values: string, shape: "
      "int64)",
      "skip_empty: bool = true");
  ops.Add(
      "StringSplitV2(input: string, sep: string) -> (indices: int64, values: string, shape: int64)",
      "maxsplit: int = -1");
  ops.Add("StringLength(input: string) -> (output: int32)", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'");
  ops.Add("StringLower(input: string) -> (output: string)", "encoding: string = ''");
  ops.Add("StringUpper(input: string) -> (output: string)", "encoding: string = ''");
  ops.Add("StringStrip(input: string) -> (output: string)", "");
  ops.Add("Substr(input: string, pos: T, len: T) -> (output: string)",
          "T: {index}; unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'");
  ops.Add("AsString(input: T) -> (output: string)",
          "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, "
          "uint64, bool, variant, string}; precision: int = -1; scientific: bool = false; "
          "shortest: bool = false; width: int = -1; fill: string = ''");
  ops.Add("StringToNumber(string_tensor: string) -> (output: out_type)",
          "out_type: {float, double, int32, int64, uint32, uint64} = float");
  ops.Add("StringToHashBucketFast(input: string) -> (output: int64)", "num_buckets: int >= 1");
  ops.Add("StringToHashBucket(string_tensor: string) -> (output: int64)", "num_buckets: int >= 1");
  ops.Add("StringToHashBucketStrong(input: string) -> (output: int64)",
          "num_buckets: int >= 1; key: list(int)");
  ops.Add("ReduceJoin(inputs: string, reduction_indices: int32) -> (output: string)",
          "keep_dims: bool = false; separator: string = ''");
  ops.Add(
      "UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> "
      "(output: string)",
      "separator: string = ''; Tindices: {index}; Tnumsegments: {index} = int32");
  ops.Add("RegexReplace(input: string, pattern: string, rewrite: string) -> (output: string)",
          "replace_global: bool = true");
  ops.Add("RegexFullMatch(input: string, pattern: string) -> (output: bool)", "");
  ops.Add("StaticRegexFullMatch(input: string) -> (output: bool)", "pattern: string");
  ops.Add("StaticRegexReplace(input: string) -> (output: string)",
          "pattern: string; rewrite: string; replace_global: bool = true");
  ops.Add("EncodeBase64(input: string) -> (output: string)", "pad: bool = false");
  ops.Add("DecodeBase64(input: string) -> (output: string)", "");
}

}  // namespace carillon
