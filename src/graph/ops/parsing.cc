// Specs of the ops for records and text that hold values.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

PartialShape Append(PartialShape shape, int64_t size) {
  if (!shape.has_rank() || shape.rank() == kMaxRank) return PartialShape();
  shape.AddDim(size);
  return shape;
}

Status DecodeRawShape(ShapeContext& c) {
  c.set_output(0, Append(c.input(0), -1));
  return absl::OkStatus();
}

Status DecodePaddedRawShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  int64_t width = -1;
  if (const std::optional<int64_t> length = c.input_as_int(1)) {
    const auto size = static_cast<int64_t>(DTypeSize(c.attr<DType>("out_type")));
    if (*length <= 0 || *length % size != 0) {
      return InvalidArgument("fixed_length ", *length, " should be a positive multiple of ", size);
    }
    width = *length / size;
  }
  c.set_output(0, Append(c.input(0), width));
  return absl::OkStatus();
}

Status DecodeCsvShape(ShapeContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialShape standard = c.input(i);
    if (!standard.has_rank()) continue;
    if (standard.rank() > 1 || (standard.rank() == 1 && standard.dim(0) > 1)) {
      return InvalidArgument("record_defaults[", i - 1, "] of shape ", standard.ToString(),
                             " should have one element or none");
    }
  }
  return ShapeOfInput(c);
}

Status ParseTensorShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  return ShapeUnknown(c);
}

// Sparse tensors, dense and ragged ones, in this order; `batch` is the shape of the examples.
Status SetExampleShapes(ShapeContext& c, const PartialShape& batch, size_t num_sparse) {
  const auto& dense_shapes = c.attr<std::vector<PartialShape>>("dense_shapes");
  const int64_t rank = batch.has_rank() ? batch.rank() + 1 : -1;
  int output = 0;
  for (size_t i = 0; i < num_sparse; ++i) c.set_output(output++, PartialShape{-1, rank});
  for (size_t i = 0; i < num_sparse; ++i) c.set_output(output++, PartialShape{-1});
  for (size_t i = 0; i < num_sparse; ++i) c.set_output(output++, PartialShape{rank});
  for (const PartialShape& dense : dense_shapes) {
    PartialShape shape = batch;
    for (const int64_t size : dense.dims()) shape = Append(shape, size);
    c.set_output(output++, dense.has_rank() ? shape : PartialShape());
  }
  if (c.node().FindAttr("ragged_value_types") == nullptr) return absl::OkStatus();
  const auto num_ragged = c.attr<std::vector<DType>>("ragged_value_types").size();
  for (size_t i = 0; i < num_ragged; ++i) c.set_output(output++, PartialShape{-1});
  int64_t splits = -1;
  if (batch.has_rank()) splits = batch.rank() == 0 ? 0 : batch.dim(0) < 0 ? -1 : batch.dim(0) + 1;
  for (size_t i = 0; i < num_ragged; ++i) c.set_output(output++, PartialShape{splits});
  return absl::OkStatus();
}

// The attributes agree on the number of features, and only first dimensions are left open.
Status CheckExampleAttrs(ShapeContext& c, size_t num_sparse, size_t num_dense) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("dense_shapes");
  if (c.attr<std::vector<DType>>("sparse_types").size() != num_sparse ||
      c.attr<std::vector<DType>>("Tdense").size() != num_dense || shapes.size() != num_dense) {
    return InvalidArgument("the numbers of keys, types and shapes of the features differ");
  }
  for (const PartialShape& shape : shapes) {
    if (!shape.has_rank()) return InvalidArgument("a dense shape has no rank");
    for (int d = 1; d < shape.rank(); ++d) {
      if (shape.dim(d) < 0) {
        return InvalidArgument("the dense shape ", shape.ToString(),
                               " leaves more than its first dimension open");
      }
    }
    Shape row;
    PartialShape known = shape;
    if (shape.rank() > 0 && shape.dim(0) < 0) known.set_dim(0, 1);
    if (!known.AsShape(&row))
      return InvalidArgument("the dense shape ", shape.ToString(), " is too large");
  }
  return absl::OkStatus();
}

Status ParseExampleShape(ShapeContext& c) {
  const auto num_sparse = static_cast<size_t>(c.attr<int64_t>("Nsparse"));
  CARILLON_RETURN_IF_ERROR(
      CheckExampleAttrs(c, num_sparse, static_cast<size_t>(c.attr<int64_t>("Ndense"))));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape batch, c.WithRank(0, 1));
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 1).status());
  return SetExampleShapes(c, batch, num_sparse);
}

Status ParseExampleV2Shape(ShapeContext& c) {
  const auto num_sparse = static_cast<size_t>(c.attr<int64_t>("num_sparse"));
  const size_t num_dense = c.attr<std::vector<DType>>("Tdense").size();
  CARILLON_RETURN_IF_ERROR(CheckExampleAttrs(c, num_sparse, num_dense));
  if (c.attr<std::vector<DType>>("ragged_value_types").size() !=
      c.attr<std::vector<DType>>("ragged_split_types").size()) {
    return InvalidArgument("ragged_value_types and ragged_split_types differ in length");
  }
  if (c.input(0).has_rank() && c.input(0).rank() > 1) {
    return InvalidArgument("serialized should be a scalar or a vector but has shape ",
                           c.input(0).ToString());
  }
  for (const int i : {2, 3, 4}) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 1).status());
  return SetExampleShapes(c, c.input(0), num_sparse);
}

Status ParseSingleExampleShape(ShapeContext& c) {
  const auto num_sparse = static_cast<size_t>(c.attr<int64_t>("num_sparse"));
  if (c.attr<std::vector<std::string>>("sparse_keys").size() != num_sparse) {
    return InvalidArgument("num_sparse is ", num_sparse, " but sparse_keys has another length");
  }
  CARILLON_RETURN_IF_ERROR(
      CheckExampleAttrs(c, num_sparse, c.attr<std::vector<std::string>>("dense_keys").size()));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape batch, c.WithRank(0, 0));
  return SetExampleShapes(c, batch, num_sparse);
}

}  // namespace

void AddParsingOps(OpTable& ops) {
  ops.Add("DecodeRaw(bytes: string) -> (output: out_type)",
          "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bool, "
          "bfloat16}; little_endian: bool = true",
          DecodeRawShape);
  ops.Add("DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> (output: out_type)",
          "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}; "
          "little_endian: bool = true",
          DecodePaddedRawShape);
  ops.Add("DecodeCSV(records: string, record_defaults: list(OUT_TYPE)) -> (output: list(OUT_TYPE))",
          "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: string = ','; "
          "use_quote_delim: bool = true; na_value: string = ''; select_cols: list(int) = []",
          DecodeCsvShape);
  ops.Add("SerializeTensor(tensor: T) -> (serialized: string)", "T: type", ShapeScalar);
  ops.Add("ParseTensor(serialized: string) -> (output: out_type)", "out_type: type",
          ParseTensorShape);
  ops.Add(
      "ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: "
      "Ndense * string, dense_defaults: list(Tdense)) -> (sparse_indices: Nsparse * int64, "
      "sparse_values: list(sparse_types), sparse_shapes: Nsparse * int64, dense_values: "
      "list(Tdense))",
      "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list({float, int64, string}) >= 0; "
      "Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0",
      ParseExampleShape);
  ops.Add(
      "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
      "ragged_keys: string, dense_defaults: list(Tdense)) -> (sparse_indices: num_sparse * int64, "
      "sparse_values: list(sparse_types), sparse_shapes: num_sparse * int64, dense_values: "
      "list(Tdense), ragged_values: list(ragged_value_types), ragged_row_splits: "
      "list(ragged_split_types))",
      "Tdense: list({float, int64, string}) >= 0; num_sparse: int >= 0; sparse_types: list({float, "
      "int64, string}) >= 0; ragged_value_types: list({float, int64, string}) >= 0; "
      "ragged_split_types: list({index}) >= 0; dense_shapes: list(shape) >= 0",
      ParseExampleV2Shape);
  ops.Add(
      "ParseSingleExample(serialized: string, dense_defaults: list(Tdense)) -> (sparse_indices: "
      "num_sparse * int64, sparse_values: list(sparse_types), sparse_shapes: num_sparse * int64, "
      "dense_values: list(Tdense))",
      "num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; "
      "sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; "
      "dense_shapes: list(shape) >= 0",
      ParseSingleExampleShape);
  ops.Add("DecodeJSONExample(json_examples: string) -> (binary_examples: string)", "",
          ShapeOfInput);
}

}  // namespace carillon
