// Records and text that hold values.
#pragma once

#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// The bytes of strings, all of one length, as numbers: [..., n].
Output DecodeRaw(const Output& bytes, DType out_type, bool little_endian = true);
// The same for strings of any length, cut or padded with zeros to `fixed_length` bytes.
Output DecodePaddedRaw(const Output& bytes, const Input& fixed_length, DType out_type,
                       bool little_endian = true);

struct DecodeCsvOptions {
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value;              // stands for a missing field
  std::vector<int64_t> select_cols;  // empty: all
};
// The columns of lines. A default with no element makes its column required; its dtype is the
// column's.
std::vector<Output> DecodeCSV(const Output& records, const std::vector<Tensor>& record_defaults,
                              const DecodeCsvOptions& options = {});

// A tensor as a serialized TensorProto, and back.
Output SerializeTensor(const Output& tensor);
Output ParseTensor(const Output& serialized, DType out_type);

// A feature of Examples whose values form a tensor of one shape. A first dimension of -1 differs
// from example to example: it is padded with `default_value`, then a scalar. Without a default
// the feature is required.
struct DenseFeature {
  std::string key;
  DType dtype = kFloat;
  PartialShape shape;
  Tensor default_value;
};
// A feature with any number of values.
struct SparseFeature {
  std::string key;
  DType dtype = kFloat;
};
struct ParsedExamples {
  std::vector<Output> dense;  // [n, shape]
  std::vector<Output> sparse_indices, sparse_values, sparse_shapes;
};
// Serialized Examples, a vector of n, as tensors; one for each feature.
ParsedExamples ParseExample(const Output& serialized, const std::vector<DenseFeature>& dense,
                            const std::vector<SparseFeature>& sparse = {});

}  // namespace carillon
