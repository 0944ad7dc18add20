// Specs of the ops for hash tables.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddTableOps(OpTable& ops) {
  ops.Add("HashTable() -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful});
  ops.Add("HashTableV2() -> (table_handle: resource)",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful});
  ops.Add("MutableHashTable() -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful});
  ops.Add("MutableHashTableV2() -> (table_handle: resource)",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type",
          {stateful});
  ops.Add("MutableHashTableOfTensors() -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type; value_shape: shape = []",
          {stateful});
  ops.Add("MutableHashTableOfTensorsV2() -> (table_handle: resource)",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type; value_shape: shape = []",
          {stateful});
  ops.Add("MutableDenseHashTable(empty_key: key_dtype) -> (table_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
          "key_dtype: type; value_dtype: type; value_shape: shape = []; initial_num_buckets: int = "
          "131072; max_load_factor: float = 0.8",
          {stateful});
  ops.Add(
      "MutableDenseHashTableV2(empty_key: key_dtype, deleted_key: key_dtype) -> (table_handle: "
      "resource)",
      "container: string = ''; shared_name: string = ''; use_node_name_sharing: bool = false; "
      "key_dtype: type; value_dtype: type; value_shape: shape = []; initial_num_buckets: int = "
      "131072; max_load_factor: float = 0.8",
      {stateful});
  ops.Add("AnonymousHashTable() -> (table_handle: resource)", "key_dtype: type; value_dtype: type",
          {stateful});
  ops.Add(
      "LookupTableFind(table_handle: ref(string), keys: Tin, default_value: Tout) -> (values: "
      "Tout)",
      "Tin: type; Tout: type");
  ops.Add(
      "LookupTableFindV2(table_handle: resource, keys: Tin, default_value: Tout) -> (values: Tout)",
      "Tin: type; Tout: type", {stateful});
  ops.Add("LookupTableInsert(table_handle: ref(string), keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type");
  ops.Add("LookupTableInsertV2(table_handle: resource, keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type", {stateful});
  ops.Add("LookupTableRemoveV2(table_handle: resource, keys: Tin) -> ()", "Tin: type", {stateful});
  ops.Add("LookupTableSize(table_handle: ref(string)) -> (size: int64)", "");
  ops.Add("LookupTableSizeV2(table_handle: resource) -> (size: int64)", "", {stateful});
  ops.Add("LookupTableExport(table_handle: ref(string)) -> (keys: Tkeys, values: Tvalues)",
          "Tkeys: type; Tvalues: type");
  ops.Add("LookupTableExportV2(table_handle: resource) -> (keys: Tkeys, values: Tvalues)",
          "Tkeys: type; Tvalues: type", {stateful});
  ops.Add("LookupTableImport(table_handle: ref(string), keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type");
  ops.Add("LookupTableImportV2(table_handle: resource, keys: Tin, values: Tout) -> ()",
          "Tin: type; Tout: type", {stateful});
  ops.Add("InitializeTable(table_handle: ref(string), keys: Tkey, values: Tval) -> ()",
          "Tkey: type; Tval: type");
  ops.Add("InitializeTableV2(table_handle: resource, keys: Tkey, values: Tval) -> ()",
          "Tkey: type; Tval: type", {stateful});
  ops.Add("InitializeTableFromTextFile(table_handle: ref(string), filename: string) -> ()",
          "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: "
          "string = '	'; offset: int = 0");
  ops.Add("InitializeTableFromTextFileV2(table_handle: resource, filename: string) -> ()",
          "key_index: int >= -2; value_index: int >= -2; vocab_size: int >= -1 = -1; delimiter: "
          "string = '	'; offset: int = 0",
          {stateful});
}

}  // namespace carillon
