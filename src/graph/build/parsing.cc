#include "carillon/ops/parsing.h"

#include "carillon/op_builder.h"
#include "graph/attr.h"

namespace carillon {

Output DecodeRaw(const Output& bytes, DType out_type, bool little_endian) {
  return OpBuilder("DecodeRaw")
      .Arg(bytes)
      .Attr("out_type", out_type)
      .Attr("little_endian", little_endian);
}

Output DecodePaddedRaw(const Output& bytes, const Input& fixed_length, DType out_type,
                       bool little_endian) {
  return OpBuilder("DecodePaddedRaw")
      .Arg(bytes)
      .Arg(fixed_length)
      .Attr("out_type", out_type)
      .Attr("little_endian", little_endian);
}

std::vector<Output> DecodeCSV(const Output& records, const std::vector<Tensor>& record_defaults,
                              const DecodeCsvOptions& options) {
  const Operation decoded =
      OpBuilder("DecodeCSV")
          .Arg(records)
          .Args(std::vector<Input>(record_defaults.begin(), record_defaults.end()))
          .Attr("field_delim", options.field_delim)
          .Attr("use_quote_delim", options.use_quote_delim)
          .Attr("na_value", options.na_value)
          .Attr("select_cols", options.select_cols)
          .Build();
  std::vector<Output> columns;
  for (int i = 0; i < decoded.num_outputs(); ++i) columns.push_back(decoded.output(i));
  return columns;
}

Output SerializeTensor(const Output& tensor) { return OpBuilder("SerializeTensor").Arg(tensor); }

Output ParseTensor(const Output& serialized, DType out_type) {
  return OpBuilder("ParseTensor").Arg(serialized).Attr("out_type", out_type);
}

ParsedExamples ParseExample(const Output& serialized, const std::vector<DenseFeature>& dense,
                            const std::vector<SparseFeature>& sparse) {
  std::vector<std::string> dense_keys, sparse_keys;
  std::vector<DType> dense_types, sparse_types;
  std::vector<PartialShape> shapes;
  std::vector<Input> defaults;
  for (const DenseFeature& feature : dense) {
    dense_keys.push_back(feature.key);
    dense_types.push_back(feature.dtype);
    shapes.push_back(feature.shape);
    const Tensor& value = feature.default_value;
    defaults.push_back(value.has_value() ? value : Tensor(feature.dtype, Shape{0}));
  }
  for (const SparseFeature& feature : sparse) {
    sparse_keys.push_back(feature.key);
    sparse_types.push_back(feature.dtype);
  }
  const Operation parsed = OpBuilder("ParseExampleV2")
                               .Arg(serialized)
                               .Arg(Tensor(kString, Shape{0}))
                               .Arg(Tensor::FromVector(sparse_keys))
                               .Arg(Tensor::FromVector(dense_keys))
                               .Arg(Tensor(kString, Shape{0}))
                               .Args(defaults)
                               .Attr("Tdense", dense_types)
                               .Attr("num_sparse", static_cast<int64_t>(sparse.size()))
                               .Attr("sparse_types", sparse_types)
                               .Attr("ragged_value_types", std::vector<DType>())
                               .Attr("ragged_split_types", std::vector<DType>())
                               .AttrValueOf("dense_shapes", shapes)
                               .Build();
  ParsedExamples result;
  int output = 0;
  for (std::vector<Output>* list :
       {&result.sparse_indices, &result.sparse_values, &result.sparse_shapes}) {
    for (size_t i = 0; i < sparse.size(); ++i) list->push_back(parsed.output(output++));
  }
  for (size_t i = 0; i < dense.size(); ++i) result.dense.push_back(parsed.output(output++));
  return result;
}

}  // namespace carillon
