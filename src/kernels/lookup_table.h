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
#include "tensor/memory_charge.h"
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

// Rows of one dtype and shape, one after the other, in memory of `allocator`, which outlives them.
class RowStore {
 public:
  RowStore(DType dtype, Shape row, Allocator* allocator)
      : dtype_(dtype), row_(row), allocator_(allocator) {}
  int64_t rows() const { return rows_; }
  int64_t room() const { return data_.has_value() ? data_.dim(0) : 0; }
  const void* row(int64_t i) const;
  // Makes room for so many rows in all. ResourceExhausted, with nothing changed, when there is no
  // memory for them.
  Status Reserve(int64_t rows);
  // A copy of the row at `from`, at the end, where there must be room.
  void Append(const void* from) { Set(rows_++, from); }
  void Set(int64_t i, const void* from);
  // Lets the strings of the row go.
  void Empty(int64_t i);
  // What strings take outside of the rows: those in them, and those at `from` once they are copied.
  int64_t text_bytes() const { return text_bytes_; }
  int64_t TextAt(const void* from) const;

 private:
  void* mutable_row(int64_t i);
  DType dtype_;
  Shape row_;
  Allocator* allocator_;
  int64_t rows_ = 0;
  int64_t text_bytes_ = 0;
  Tensor data_;  // rows_ rows, and room for more
};

// Keys and values in the order in which the keys first came. Keys are looked up by their value when
// they are integers and by their bytes otherwise.
//
// Invariants, under mutex_ (shared to read): `by_number` or `by_bytes` leads from each key that is
// in the table to its row in `keys` and `values`; `free` holds the rows that no key leads to;
// charge_ counts the bytes of entries_. A change that has no memory changes nothing.
class LookupTable final : public Resource {
 public:
  // What the table holds counts against the limit of `allocator`; null: it does not.
  explicit LookupTable(LookupTableOptions options, Allocator* allocator = nullptr);
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
  // All entries, in memory of `allocator`. Aborted before Initialize.
  Status Export(Allocator* allocator, Tensor* keys, Tensor* values) const;

  std::string DebugString() const override { return "table"; }

 private:
  // What identifies a key.
  struct Key {
    bool is_number;
    int64_t number;
    std::string bytes;
  };
  struct Entries {
    absl::flat_hash_map<int64_t, int64_t> by_number;
    absl::flat_hash_map<std::string, int64_t> by_bytes;
    int64_t key_text = 0;  // what the strings in by_bytes take outside of it
    RowStore keys, values;
    std::vector<int64_t> free;

    int64_t size() const { return static_cast<int64_t>(by_number.size() + by_bytes.size()); }
    // What all that takes besides the tensors of rows.
    int64_t bytes() const;
    // How much larger the maps, and what goes with the rows, may be for a while when so many keys
    // come in; and how many rows there are then.
    int64_t BytesToGrow(int64_t numbers, int64_t others) const;
    int64_t RowsWith(int64_t added) const;
    const int64_t* FindRow(const Key& key) const;
  };
  Entries NoEntries() const;
  Key KeyAt(const Tensor& keys, int64_t i) const;
  Status CheckTypes(const Tensor& keys, const Tensor& values) const;
  Status CheckEntries(const Tensor& keys, const Tensor& values) const;
  Status CheckKey(const Key& key) const;
  // Under mutex_. Afterwards, also after an error, charge_ counts so much more as `entries` takes.
  Status Put(const Tensor& keys, const Tensor& values, bool refuse_other_values, Entries& entries);
  // Under mutex_: what is there becomes what is given. FailedPrecondition when a key comes with two
  // values and that is refused.
  Status Replace(const Tensor& keys, const Tensor& values, bool refuse_other_values,
                 Entries* replaced);

  const LookupTableOptions options_;
  const std::shared_ptr<Allocator> allocator_;
  std::optional<Key> empty_, deleted_;
  mutable std::shared_mutex mutex_;
  bool initialized_ = false;
  MemoryCharge charge_;
  Entries entries_;
};

}  // namespace carillon
