// LookupTable: the resource behind HashTable, MutableHashTable, MutableHashTableOfTensors and
// MutableDenseHashTable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"
#include "tensor/object.h"

namespace carillon {

struct LookupTableOptions {
  std::string name;  // for messages
  // Filled once by Initialize, then only read; otherwise changed by Insert and Remove.
  bool initialized_once = false;
  DType key_dtype = DType::kInvalid;
  DType value_dtype = DType::kInvalid;
  Shape key_shape;    // of one key; not a scalar only in dense tables
  Shape value_shape;  // of one value
  // Keys that no entry may have; hold nothing when there are none.
  Tensor empty_key, deleted_key;
};

// Rows of one dtype and shape, one after the other, with room to grow.
class RowStore {
 public:
  RowStore(DType dtype, Shape row) : dtype_(dtype), row_(row) {}
  int64_t rows() const { return rows_; }
  const void* row(int64_t i) const;
  // A copy of the row at `from`, at the end.
  Status Append(const void* from);
  void Set(int64_t i, const void* from);
  void Clear();

 private:
  void* mutable_row(int64_t i);
  DType dtype_;
  Shape row_;
  int64_t rows_ = 0;
  Tensor data_;  // rows_ rows, and room for more
};

// Keys and values in the order in which the keys first came. Keys are looked up by their value when
// they are integers and by their bytes otherwise.
//
// Invariants, under mutex_ (shared to read): by_number_ or by_bytes_ leads from each key that is in
// the table to its row in keys_ and values_; free_ holds the rows that no key leads to.
class LookupTable final : public Resource {
 public:
  explicit LookupTable(LookupTableOptions options);
  const LookupTableOptions& options() const { return options_; }

  // The shape of values for keys of this shape. InvalidArgument when they are no keys.
  StatusOr<Shape> ValuesShape(const Shape& keys) const;

  // Writes the value of each key to `values`, or the default: one value for all, or one for each.
  // FailedPrecondition before Initialize.
  Status Find(const Tensor& keys, const Tensor& default_value, Tensor& values) const;
  // Unimplemented for tables that are initialised once.
  Status Insert(const Tensor& keys, const Tensor& values);
  Status Remove(const Tensor& keys);
  // Replaces what is there; of tables that are initialised once the same as Initialize.
  Status Import(const Tensor& keys, const Tensor& values);
  // Fills the table. When it is filled already nothing happens, but FailedPrecondition when the
  // number of entries differs. InvalidArgument for other kinds of table.
  Status Initialize(const Tensor& keys, const Tensor& values);
  int64_t Size() const;
  // All entries. Aborted before Initialize.
  Status Export(Tensor* keys, Tensor* values) const;

  std::string DebugString() const override { return "table"; }

 private:
  // What identifies a key.
  struct Key {
    bool is_number;
    int64_t number;
    std::string bytes;
  };
  Key KeyAt(const Tensor& keys, int64_t i) const;
  Status CheckTypes(const Tensor& keys, const Tensor& values) const;
  Status CheckEntries(const Tensor& keys, const Tensor& values) const;
  Status CheckKey(const Key& key) const;
  // All under mutex_.
  const int64_t* FindRow(const Key& key) const;
  Status Put(const Tensor& keys, const Tensor& values, bool refuse_other_values);
  void Clear();

  const LookupTableOptions options_;
  std::optional<Key> empty_, deleted_;
  mutable std::shared_mutex mutex_;
  bool initialized_ = false;
  absl::flat_hash_map<int64_t, int64_t> by_number_;
  absl::flat_hash_map<std::string, int64_t> by_bytes_;
  RowStore keys_, values_;
  std::vector<int64_t> free_;
};

}  // namespace carillon
