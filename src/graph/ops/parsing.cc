// Specs of the ops for records and text that hold values.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddParsingOps(OpTable& ops) {
  ops.Add("DecodeRaw(bytes: string) -> (output: out_type)",
          "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bool, "
          "bfloat16}; little_endian: bool = true");
  ops.Add("DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> (output: out_type)",
          "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}; "
          "little_endian: bool = true");
  ops.Add("DecodeCSV(records: string, record_defaults: list(OUT_TYPE)) -> (output: list(OUT_TYPE))",
          "OUT_TYPE: list({float, double, int32, int64, string}) >= 1; field_delim: string = ','; "
          "use_quote_delim: bool = true; na_value: string = ''; select_cols: list(int) = []");
  ops.Add("SerializeTensor(tensor: T) -> (serialized: string)", "T: type");
  ops.Add("ParseTensor(serialized: string) -> (output: out_type)", "out_type: type");
  ops.Add(
      "ParseExample(serialized: string, names: string, sparse_keys: Nsparse * string, dense_keys: "
      "Ndense * string, dense_defaults: list(Tdense)) -> (sparse_indices: Nsparse * int64, "
      "sparse_values: list(sparse_types), sparse_shapes: Nsparse * int64, dense_values: "
      "list(Tdense))",
      "Nsparse: int >= 0; Ndense: int >= 0; sparse_types: list({float, int64, string}) >= 0; "
      "Tdense: list({float, int64, string}) >= 0; dense_shapes: list(shape) >= 0");
  ops.Add(
      "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string, "
      "ragged_keys: string, dense_defaults: list(Tdense)) -> (sparse_indices: num_sparse * int64, "
      "sparse_values: list(sparse_types), sparse_shapes: num_sparse * int64, dense_values: "
      "list(Tdense), ragged_values: list(ragged_value_types), ragged_row_splits: "
      "list(ragged_split_types))",
      "Tdense: list({float, int64, string}) >= 0; num_sparse: int >= 0; sparse_types: list({float, "
      "int64, string}) >= 0; ragged_value_types: list({float, int64, string}) >= 0; "
      "ragged_split_types: list({index}) >= 0; dense_shapes: list(shape) >= 0");
  ops.Add(
      "ParseSingleExample(serialized: string, dense_defaults: list(Tdense)) -> (sparse_indices: "
      "num_sparse * int64, sparse_values: list(sparse_types), sparse_shapes: num_sparse * int64, "
      "dense_values: list(Tdense))",
      "num_sparse: int >= 0; sparse_keys: list(string) >= 0; dense_keys: list(string) >= 0; "
      "sparse_types: list({float, int64, string}) >= 0; Tdense: list({float, int64, string}) >= 0; "
      "dense_shapes: list(shape) >= 0");
  ops.Add("DecodeJSONExample(json_examples: string) -> (binary_examples: string)", "");
}

}  // namespace carillon
