#include "carillon/ops/string.h"

#include "carillon/op_builder.h"

namespace carillon {
namespace {

const char* UnitName(StringUnit unit) { return unit == StringUnit::kByte ? "BYTE" : "UTF8_CHAR"; }

SparseStrings Sparse(const Operation& op) { return {op.output(0), op.output(1), op.output(2)}; }

}  // namespace

Output StringJoin(const std::vector<Input>& inputs, const std::string& separator) {
  return OpBuilder("StringJoin").Args(inputs).Attr("separator", separator);
}

SparseStrings StringSplit(const Output& input, const Input& delimiter, bool skip_empty) {
  return Sparse(
      OpBuilder("StringSplit").Arg(input).Arg(delimiter).Attr("skip_empty", skip_empty).Build());
}

SparseStrings StringSplitV2(const Output& input, const Input& sep, int64_t maxsplit) {
  return Sparse(OpBuilder("StringSplitV2").Arg(input).Arg(sep).Attr("maxsplit", maxsplit).Build());
}

Output StringLength(const Output& input, StringUnit unit) {
  return OpBuilder("StringLength").Arg(input).Attr("unit", UnitName(unit));
}

Output StringLower(const Output& input, const std::string& encoding) {
  return OpBuilder("StringLower").Arg(input).Attr("encoding", encoding);
}

Output StringUpper(const Output& input, const std::string& encoding) {
  return OpBuilder("StringUpper").Arg(input).Attr("encoding", encoding);
}

Output StringStrip(const Output& input) { return OpBuilder("StringStrip").Arg(input); }

Output Substr(const Output& input, const Input& pos, const Input& len, StringUnit unit) {
  return OpBuilder("Substr").Arg(input).Arg(pos).Arg(len).Attr("unit", UnitName(unit));
}

Output AsString(const Output& input, const AsStringOptions& options) {
  return OpBuilder("AsString")
      .Arg(input)
      .Attr("precision", options.precision)
      .Attr("scientific", options.scientific)
      .Attr("shortest", options.shortest)
      .Attr("width", options.width)
      .Attr("fill", options.fill);
}

Output StringToNumber(const Output& input, DType out_type) {
  return OpBuilder("StringToNumber").Arg(input).Attr("out_type", out_type);
}

Output StringToHashBucketFast(const Output& input, int64_t num_buckets) {
  return OpBuilder("StringToHashBucketFast").Arg(input).Attr("num_buckets", num_buckets);
}

Output ReduceJoin(const Output& input, const Input& axes, bool keep_dims,
                  const std::string& separator) {
  return OpBuilder("ReduceJoin")
      .Arg(input)
      .Arg(axes)
      .Attr("keep_dims", keep_dims)
      .Attr("separator", separator);
}

Output UnsortedSegmentJoin(const Output& input, const Output& segment_ids,
                           const Input& num_segments, const std::string& separator) {
  return OpBuilder("UnsortedSegmentJoin")
      .Arg(input)
      .Arg(segment_ids)
      .Arg(num_segments)
      .Attr("separator", separator);
}

Output RegexReplace(const Output& input, const Input& pattern, const Input& rewrite,
                    bool replace_global) {
  return OpBuilder("RegexReplace")
      .Arg(input)
      .Arg(pattern)
      .Arg(rewrite)
      .Attr("replace_global", replace_global);
}

Output RegexFullMatch(const Output& input, const Input& pattern) {
  return OpBuilder("RegexFullMatch").Arg(input).Arg(pattern);
}

Output EncodeBase64(const Output& input, bool pad) {
  return OpBuilder("EncodeBase64").Arg(input).Attr("pad", pad);
}

Output DecodeBase64(const Output& input) { return OpBuilder("DecodeBase64").Arg(input); }

}  // namespace carillon
