// Specs of the ops for hash tables.
#include <optional>
#include <vector>

#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// What is known of a table stands in the handle information of its handle: the dtype and shape of a
// value. Old handles have none: there the node itself is asked.
Status TableShape(ShapeContext& c) {
  c.set_output(0, Shape{});
  const bool of_tensors = c.node().FindAttr("value_shape") != nullptr;
  if (c.node().output(0).is_ref) return absl::OkStatus();
  c.set_output_handle(0,
                      {c.attr<DType>("value_dtype"),
                       of_tensors ? c.attr<PartialShape>("value_shape") : PartialShape(Shape{})});
  return absl::OkStatus();
}

// How many dimensions a key of the table behind input 0 has; -1 when that is not known. Only dense
// tables have keys that are no scalars.
int KeyRank(const ShapeContext& c) {
  const Node* node = c.node().input(0).node;
  if (node == nullptr) return -1;
  if (node->num_inputs() == 0) return node->FindAttr("key_dtype") != nullptr ? 0 : -1;
  if (node->op() != "MutableDenseHashTableV2" && node->op() != "MutableDenseHashTable") return -1;
  const Endpoint& empty_key = node->input(0);
  return empty_key.node->output(empty_key.index).shape.rank();
}

Status FindShape(ShapeContext& c) {
  c.set_output(0, PartialShape());
  const std::optional<HandleInfo> table = c.input_handle(0);
  const PartialShape keys = c.input(1);
  const int key_rank = KeyRank(c);
  if (!table.has_value() || key_rank < 0 || !table->shape.has_rank() || !keys.has_rank())
    return absl::OkStatus();
  if (table->dtype != c.input_dtype(2)) {
    return InvalidArgument("the values of the table are ", DTypeName(table->dtype), ", not ",
                           DTypeName(c.input_dtype(2)));
  }
  if (keys.rank() < key_rank) {
    return InvalidArgument("keys of shape ", keys.ToString(), " have fewer than the ", key_rank,
                           " dimensions of a key");
  }
  std::vector<int64_t> dims(keys.dims().begin(), keys.dims().end() - key_rank);
  dims.insert(dims.end(), table->shape.dims().begin(), table->shape.dims().end());
  PartialShape values;
  if (PartialShape::TryMake(dims, &values)) c.set_output(0, values);
  return absl::OkStatus();
}

Status ExportShape(ShapeContext& c) {
  const std::optional<HandleInfo> table = c.input_handle(0);
  c.set_output(0, KeyRank(c) == 0 ? PartialShape({-1}) : PartialShape());
  PartialShape values;
  if (table.has_value() && table->shape.has_rank()) {
    std::vector<int64_t> dims = {-1};
    dims.insert(dims.end(), table->shape.dims().begin(), table->shape.dims().end());
    PartialShape::TryMake(dims, &values);  // leaves it unknown when there are too many
  }
  c.set_output(1, values);
  return absl::OkStatus();
}

Status InitializeShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape keys, c.WithRank(1, 1));
  return MergeShapes(keys, c.input(2)).status();
}

Status FromFileShape(ShapeContext& c) { return c.WithRank(1, 0).status(); }

}  // namespace

void AddTableOps(OpTable& ops) {
  ops.Add("HashTable() -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful}, TableShape);
  ops.Add("HashTableV2() -> (table_handle: resource)",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful}, TableShape);
  ops.Add("MutableHashTable() -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful}, TableShape);
  ops.Add("MutableHashTableV2() -> (table_handle: resource)",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful}, TableShape);
  ops.Add("MutableHashTableOfTensors() -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type; value_shape: shape = []",
          {stateful}, TableShape);
  ops.Add("MutableHashTableOfTensorsV2() -> (table_handle: resource)",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type; value_shape: shape = []",
          {stateful}, TableShape);
  ops.Add("MutableDenseHashTable(empty_key: key_dtype) -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type; value_shape: shape = []; initial_num_buckets: int = "
          "131072; max_load_factor: float = 0.8",
          {stateful}, TableShape);
  ops.Add(
      "MutableDenseHashTableV2(empty_key: key_dtype, deleted_key: key_dtype) -> (table_handle: "
      "resource)",
      "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
      "key_dtype: type; value_dtype: type; value_shape: shape = []; initial_num_buckets: int = "
      "131072; max_load_factor: float = 0.8",
      {stateful}, TableShape);
  ops.Add("AnonymousHashTable() -> (table_handle: resource)", "key_dtype: type; value_dtype: type",
          {stateful}, TableShape);
  ops.Add(
      "LookupTableFind(table_handle: ref(string), keys: Tin, default_value: Tout) -> (values: "
      "Tout)",
      "Tin: type; Tout: type", FindShape);
  ops.Add(
      "LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
      "Tin: type; Tout: type", {stateful}, FindShape);
  ops.Add("LookupTableInsert(table_handle: ref(string), keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type", ShapeNothing);
  ops.Add("LookupTableInsertV2(table_handle: resource, keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type", {stateful}, ShapeNothing);
  ops.Add("LookupTableRemoveV2(table_handle: resource, keys: Tin) -> ()", "Tin: type", {stateful},
          ShapeNothing);
  ops.Add("LookupTableSize(table_handle: ref(string)) -> (size: int64)", "", ShapeScalar);
  ops.Add("LookupTableSizeV2(table_handle: resource) -> (size: int64)", "", {stateful},
          ShapeScalar);
  ops.Add("LookupTableExport(table_handle: ref(string)) -> (keys: Tkeys, values: Tvalues)",
          "Tkeys: type; Tvalues: type", ExportShape);
  ops.Add("LookupTableExportV2(table_handle: resource) -> (keys: Tkeys, values: Tvalues)",
          "Tkeys: type; Tvalues: type", {stateful}, ExportShape);
  ops.Add("LookupTableImport(table_handle: ref(string), keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type", ShapeNothing);
  ops.Add("LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type", {stateful}, ShapeNothing);
  ops.Add("InitializeTable(table_handle: ref(string), keys: Tkey, values: Tval) -> ()",
          "Tkey: type; Tval: type", InitializeShape);
  ops.Add("InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval) -> ()",
          "Tkey: type; Tval: type", {stateful}, InitializeShape);
  ops.Add("InitializeTableFromTextFile(table_handle: ref(string), filename: string) -> ()",
          "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: "
          "string = '	'; offset: int = 0",
          FromFileShape);
  ops.Add("InitializeTableFromTextFileV2(table_handle: resource, filename: string) -> ()",
          "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: "
          "string = '	'; offset: int = 0",
          {stateful}, FromFileShape);
}

}  // namespace carillon
