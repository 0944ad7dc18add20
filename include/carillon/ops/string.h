// Strings: bytes of any length.
#pragma once

#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Element by element; scalars go with everything.
Output StringJoin(const std::vector<Input>& inputs, const std::string& separator = "");

// The parts of each string of a vector, as a sparse matrix with one row for each.
struct SparseStrings {
  Output indices;  // int64 [parts, 2]
  Output values;   // string [parts]
  Output shape;    // int64 [2]
};
// At any byte of `delimiter`; into single bytes when it is empty.
SparseStrings StringSplit(const Output& input, const Input& delimiter, bool skip_empty = true);
// As Python's str.split: at every `sep`, or at white space when it is empty; at most `maxsplit`
// times when that is not negative.
SparseStrings StringSplitV2(const Output& input, const Input& sep, int64_t maxsplit = -1);

// What lengths and positions count.
enum class StringUnit { kByte, kUtf8Char };

Output StringLength(const Output& input, StringUnit unit = StringUnit::kByte);
// `encoding`: "utf-8", or "" for ASCII letters alone.
Output StringLower(const Output& input, const std::string& encoding = "");
Output StringUpper(const Output& input, const std::string& encoding = "");
// Without white space at both ends.
Output StringStrip(const Output& input);
// `len` units from `pos` on; a negative `pos` counts from the end. One outside of the string fails
// the step.
Output Substr(const Output& input, const Input& pos, const Input& len,
              StringUnit unit = StringUnit::kByte);

struct AsStringOptions {
  int64_t precision = -1;  // digits after the point; -1: as printf
  bool scientific = false;
  bool shortest = false;
  int64_t width = -1;
  std::string fill;  // one of ' ', '+', '-', '0', '#': printf's flags
};
Output AsString(const Output& input, const AsStringOptions& options = {});
// Text that is no number of type `out_type` fails the step.
Output StringToNumber(const Output& input, DType out_type = kFloat);

// Numbers from 0 to num_buckets - 1 that depend on the string alone, on every machine.
Output StringToHashBucketFast(const Output& input, int64_t num_buckets);

// Joins the dimensions `axes`, the one that is named first fastest.
Output ReduceJoin(const Output& input, const Input& axes, bool keep_dims = false,
                  const std::string& separator = "");
// Joins the strings whose segment_ids are equal.
Output UnsortedSegmentJoin(const Output& input, const Output& segment_ids,
                           const Input& num_segments, const std::string& separator = "");

// Regular expressions have RE2's syntax; `rewrite` may refer to groups as \1 … \9.
Output RegexReplace(const Output& input, const Input& pattern, const Input& rewrite,
                    bool replace_global = true);
Output RegexFullMatch(const Output& input, const Input& pattern);

// Base64 with the alphabet that is safe in URLs.
Output EncodeBase64(const Output& input, bool pad = false);
Output DecodeBase64(const Output& input);

}  // namespace carillon
