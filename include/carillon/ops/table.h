// Tables that lead from keys to values, shared by steps, and by sessions when they have a shared
// name.
#pragma once

#include <cstdint>
#include <string>

#include "carillon/graph.h"

namespace carillon {

struct TableOpOptions {
  std::string name;         // of the node
  std::string container;    // where the table lives; empty: the default container
  std::string shared_name;  // nodes of equal container and shared name share one table, in all
                            // sessions; empty: each session has its own
};

// Handles to tables. Keys are strings or integers.

// A table that is filled once, by InitializeTable or InitializeTableFromTextFile, then only read.
Output HashTable(Graph& g, DType key_dtype, DType value_dtype, const TableOpOptions& options = {});
// A table that changes.
Output MutableHashTable(Graph& g, DType key_dtype, DType value_dtype,
                        const TableOpOptions& options = {});
// The same, whose values are vectors.
Output MutableHashTableOfTensors(Graph& g, DType key_dtype, DType value_dtype,
                                 const Shape& value_shape, const TableOpOptions& options = {});

// Fills the table; a key that comes twice must have the same value. Error(FailedPrecondition) when
// it is filled already with another number of entries.
Operation InitializeTable(const Output& table, const Input& keys, const Input& values);
// The same from the lines of a file. An index is that of a column, or one of these two.
inline constexpr int kWholeLine = -2;
inline constexpr int kLineNumber = -1;
struct TableFileOptions {
  int64_t vocab_size = -1;  // how many lines; -1: all
  std::string delimiter = "\t";
  int64_t offset = 0;  // of line numbers
};
Operation InitializeTableFromTextFile(const Output& table, const Input& filename, int key_index,
                                      int value_index, const TableFileOptions& options = {});

// The values of the keys; the default where there is none: one value, or one for each key.
Output LookupTableFind(const Output& table, const Input& keys, const Input& default_value);
// Error(Unimplemented) for tables that are filled once.
Operation LookupTableInsert(const Output& table, const Input& keys, const Input& values);
Operation LookupTableRemove(const Output& table, const Input& keys);
Output LookupTableSize(const Output& table);
// All entries, in no particular order; and to replace them all.
struct LookupTableExportOutputs {
  Output keys;
  Output values;
};
LookupTableExportOutputs LookupTableExport(const Output& table);
Operation LookupTableImport(const Output& table, const Input& keys, const Input& values);

}  // namespace carillon
