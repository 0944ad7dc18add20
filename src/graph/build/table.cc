#include "carillon/ops/table.h"

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

OpBuilder TableBuilder(Graph& g, const char* op, DType key_dtype, DType value_dtype,
                       const TableOpOptions& options) {
  OpBuilder builder(g, op);
  builder.Name(options.name)
      .Attr("key_dtype", key_dtype)
      .Attr("value_dtype", value_dtype)
      .Attr("container", options.container)
      .Attr("shared_name", options.shared_name);
  return builder;
}

// What the table leads from ("key_dtype") and to ("value_dtype").
DType TypeOf(const Output& table, const char* side) {
  if (!table.valid()) Throw(InvalidArgument("a table that refers to nothing was used"));
  const AttrValue* dtype = table.node()->FindAttr(side);
  if (dtype == nullptr) {
    Throw(
        InvalidArgument("'", table.name(), "' is no table: it is made by op ", table.node()->op()));
  }
  return *dtype->get_if<DType>();
}

// An op on entries, whose dtypes stand in the attributes `key` and `value`.
Operation OnEntries(const char* op, const Output& table, const Input& keys, const Input& values,
                    const char* key, const char* value) {
  return OpBuilder(op)
      .Arg(table)
      .Arg(keys)
      .Arg(values)
      .Attr(key, TypeOf(table, "key_dtype"))
      .Attr(value, TypeOf(table, "value_dtype"))
      .Build();
}

}  // namespace

Output HashTable(Graph& g, DType key_dtype, DType value_dtype, const TableOpOptions& options) {
  return TableBuilder(g, "HashTableV2", key_dtype, value_dtype, options);
}
Output MutableHashTable(Graph& g, DType key_dtype, DType value_dtype,
                        const TableOpOptions& options) {
  return TableBuilder(g, "MutableHashTableV2", key_dtype, value_dtype, options);
}
Output MutableHashTableOfTensors(Graph& g, DType key_dtype, DType value_dtype,
                                 const Shape& value_shape, const TableOpOptions& options) {
  return TableBuilder(g, "MutableHashTableOfTensorsV2", key_dtype, value_dtype, options)
      .Attr("value_shape", value_shape);
}

Operation InitializeTable(const Output& table, const Input& keys, const Input& values) {
  return OnEntries("InitializeTableV2", table, keys, values, "Tkey", "Tval");
}
Operation InitializeTableFromTextFile(const Output& table, const Input& filename, int key_index,
                                      int value_index, const TableFileOptions& options) {
  return OpBuilder("InitializeTableFromTextFileV2")
      .Arg(table)
      .Arg(filename)
      .Attr("key_index", key_index)
      .Attr("value_index", value_index)
      .Attr("vocab_size", options.vocab_size)
      .Attr("delimiter", options.delimiter)
      .Attr("offset", options.offset)
      .Build();
}

Output LookupTableFind(const Output& table, const Input& keys, const Input& default_value) {
  return OnEntries("LookupTableFindV2", table, keys, default_value, "Tin", "Tout").output(0);
}
Operation LookupTableInsert(const Output& table, const Input& keys, const Input& values) {
  return OnEntries("LookupTableInsertV2", table, keys, values, "Tin", "Tout");
}
Operation LookupTableRemove(const Output& table, const Input& keys) {
  return OpBuilder("LookupTableRemoveV2")
      .Arg(table)
      .Arg(keys)
      .Attr("Tin", TypeOf(table, "key_dtype"))
      .Build();
}
Output LookupTableSize(const Output& table) { return OpBuilder("LookupTableSizeV2").Arg(table); }
LookupTableExportOutputs LookupTableExport(const Output& table) {
  const Operation entries = OpBuilder("LookupTableExportV2")
                                .Arg(table)
                                .Attr("Tkeys", TypeOf(table, "key_dtype"))
                                .Attr("Tvalues", TypeOf(table, "value_dtype"))
                                .Build();
  return {entries.output(0), entries.output(1)};
}
Operation LookupTableImport(const Output& table, const Input& keys, const Input& values) {
  return OnEntries("LookupTableImportV2", table, keys, values, "Tin", "Tout");
}

}  // namespace carillon
