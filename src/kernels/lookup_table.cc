#include "kernels/lookup_table.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/strings.h"
#include "kernels/ref/array_copy.h"
#include "tensor/allocator.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Whether two rows of `elements` elements are equal; floats by their bits.
bool SameRow(DType dtype, const void* a, const void* b, int64_t elements) {
  if (IsPlainData(dtype)) {
    return std::memcmp(a, b, static_cast<size_t>(elements) * DTypeSize(dtype)) == 0;
  }
  const auto* x = static_cast<const std::string*>(a);
  return std::equal(x, x + elements, static_cast<const std::string*>(b));
}

// A slot of a flat_hash_map and its byte of control. What the C++ library takes for the text of a
// string that does not fit into it.
constexpr int64_t kNumberSlot = sizeof(std::pair<int64_t, int64_t>) + 1;
constexpr int64_t kBytesSlot = sizeof(std::pair<std::string, int64_t>) + 1;
int64_t BytesOfText(size_t size) {
  static const size_t within = std::string().capacity();
  return size > within ? static_cast<int64_t>(size) + 1 + kBlockBytes : 0;  // a zero ends it
}
// Any row may become free.
constexpr int64_t kFreeRow = sizeof(int64_t);

int64_t RowsToHave(int64_t rows, int64_t room) {
  return rows <= room ? room : std::max<int64_t>({16, rows, room + room / 2});
}

}  // namespace

const void* RowStore::row(int64_t i) const { return At(data_, i * row_.num_elements()); }
void* RowStore::mutable_row(int64_t i) { return At(data_, i * row_.num_elements()); }

Status RowStore::Reserve(int64_t rows) {
  if (rows <= room()) return absl::OkStatus();
  std::vector<int64_t> dims = {RowsToHave(rows, room())};
  dims.insert(dims.end(), row_.dims().begin(), row_.dims().end());
  Shape shape;
  Tensor larger;
  if (Shape::TryMake(dims, &shape)) larger = Tensor::TryAllocate(dtype_, shape, allocator_);
  if (!larger.has_value()) return ResourceExhausted("no memory for ", dims[0], " rows of a table");
  const int64_t elements = rows_ * row_.num_elements();
  if (elements > 0 && dtype_ == DType::kString) {
    auto* const old = data_.mutable_data<std::string>();
    std::move(old, old + elements, larger.mutable_data<std::string>());
  } else if (elements > 0) {
    CopyElements(dtype_, data_.raw_data(), larger.mutable_raw_data(), elements);
  }
  data_ = std::move(larger);
  return absl::OkStatus();
}

int64_t RowStore::TextAt(const void* from) const {
  if (dtype_ != DType::kString) return 0;
  int64_t bytes = 0;
  const auto* strings = static_cast<const std::string*>(from);
  for (int64_t i = 0; i < row_.num_elements(); ++i) bytes += BytesOfText(strings[i].size());
  return bytes;
}

void RowStore::Set(int64_t i, const void* from) {
  void* to = mutable_row(i);
  if (dtype_ != DType::kString) return CopyElements(dtype_, from, to, row_.num_elements());
  text_bytes_ += TextAt(from) - TextAt(to);
  const auto* strings = static_cast<const std::string*>(from);
  // Swapped: what is assigned to may keep more memory than the text needs.
  for (int64_t part = 0; part < row_.num_elements(); ++part)
    std::string(strings[part]).swap(static_cast<std::string*>(to)[part]);
}

void RowStore::Empty(int64_t i) {
  if (dtype_ != DType::kString) return;
  auto* strings = static_cast<std::string*>(mutable_row(i));
  text_bytes_ -= TextAt(strings);
  for (int64_t part = 0; part < row_.num_elements(); ++part) std::string().swap(strings[part]);
}

int64_t LookupTable::Entries::bytes() const {
  const auto number_bytes = static_cast<int64_t>(by_number.capacity()) * kNumberSlot;
  const auto bytes_bytes = static_cast<int64_t>(by_bytes.capacity()) * kBytesSlot;
  return number_bytes + bytes_bytes + key_text + keys.text_bytes() + values.text_bytes() +
         keys.room() * kFreeRow;
}

int64_t LookupTable::Entries::BytesToGrow(int64_t numbers, int64_t others) const {
  // A map that is fuller than 25/32 may double, so that it holds what it held twice for a while.
  const auto grown = [](const auto& map, int64_t added, int64_t slot) -> int64_t {
    const auto capacity = static_cast<int64_t>(map.capacity());
    const auto needed = static_cast<int64_t>(map.size()) + added;
    int64_t larger = capacity;
    while (added > 0 && larger * 25 / 32 < needed) larger = 2 * larger + 1;
    return larger == capacity ? 0 : larger * slot;
  };
  const int64_t room = RowsToHave(RowsWith(numbers + others), keys.room());
  return grown(by_number, numbers, kNumberSlot) + grown(by_bytes, others, kBytesSlot) +
         (room - keys.room()) * kFreeRow;
}

int64_t LookupTable::Entries::RowsWith(int64_t added) const {
  return keys.rows() + std::max<int64_t>(0, added - static_cast<int64_t>(free.size()));
}

LookupTable::Entries LookupTable::NoEntries() const {
  return {.by_number = {},
          .by_bytes = {},
          .keys = RowStore(options_.key_dtype, options_.key_shape, allocator_.get()),
          .values = RowStore(options_.value_dtype, options_.value_shape, allocator_.get()),
          .free = {}};
}

LookupTable::LookupTable(LookupTableOptions options, Allocator* allocator)
    : options_(std::move(options)),
      allocator_(KeepAllocator(allocator == nullptr ? HostAllocator() : allocator)),
      charge_(allocator),
      entries_(NoEntries()) {
  if (options_.empty_key.has_value()) empty_ = KeyAt(options_.empty_key, 0);
  if (options_.deleted_key.has_value()) deleted_ = KeyAt(options_.deleted_key, 0);
}

LookupTable::Key LookupTable::KeyAt(const Tensor& keys, int64_t i) const {
  const int64_t size = options_.key_shape.num_elements();
  if (options_.key_shape.rank() == 0 && IsInteger(keys.dtype())) {
    int64_t number = 0;
    DispatchInteger(keys.dtype(),
                    [&]<typename T>() { number = static_cast<int64_t>(keys.data<T>()[i]); });
    return {true, number, {}};
  }
  if (keys.dtype() != DType::kString) {
    return {false, 0,
            std::string(At(keys, i * size), static_cast<size_t>(size) * DTypeSize(keys.dtype()))};
  }
  const std::string* strings = keys.data<std::string>() + i * size;
  if (options_.key_shape.rank() == 0) return {false, 0, *strings};
  std::string bytes;
  for (int64_t part = 0; part < size; ++part)
    StrAppend(&bytes, strings[part].size(), ":", strings[part]);
  return {false, 0, std::move(bytes)};
}

Status LookupTable::CheckKey(const Key& key) const {
  const auto is = [&](const std::optional<Key>& other) {
    return other.has_value() && key.number == other->number && key.bytes == other->bytes;
  };
  if (is(empty_)) return InvalidArgument("Using the empty_key as a table key is not allowed");
  if (is(deleted_)) return InvalidArgument("Using the deleted_key as a table key is not allowed");
  return absl::OkStatus();
}

StatusOr<Shape> LookupTable::ValuesShape(const Shape& keys) const {
  const int outer = keys.rank() - options_.key_shape.rank();
  bool fits = outer >= 0;
  for (int i = 0; fits && i < options_.key_shape.rank(); ++i)
    fits = keys.dim(outer + i) == options_.key_shape.dim(i);
  if (!fits) {
    return InvalidArgument("keys of shape ", keys.ToString(), " do not end in the shape ",
                           options_.key_shape.ToString(), " of a key of table ", options_.name);
  }
  std::vector<int64_t> dims(keys.dims().begin(), keys.dims().begin() + outer);
  dims.insert(dims.end(), options_.value_shape.dims().begin(), options_.value_shape.dims().end());
  Shape shape;
  if (!Shape::TryMake(dims, &shape)) {
    return InvalidArgument("the values of keys of shape ", keys.ToString(), " have no valid shape");
  }
  return shape;
}

Status LookupTable::CheckTypes(const Tensor& keys, const Tensor& values) const {
  if (keys.dtype() == options_.key_dtype && values.dtype() == options_.value_dtype)
    return absl::OkStatus();
  return InvalidArgument("table ", options_.name, " leads from ", DTypeName(options_.key_dtype),
                         " to ", DTypeName(options_.value_dtype), ", not from ",
                         DTypeName(keys.dtype()), " to ", DTypeName(values.dtype()));
}

Status LookupTable::CheckEntries(const Tensor& keys, const Tensor& values) const {
  CARILLON_RETURN_IF_ERROR(CheckTypes(keys, values));
  CARILLON_ASSIGN_OR_RETURN(const Shape expected, ValuesShape(keys.shape()));
  if (values.shape() == expected) return absl::OkStatus();
  return InvalidArgument("Expected shape ", expected.ToString(), " for value, got ",
                         values.shape().ToString());
}

const int64_t* LookupTable::Entries::FindRow(const Key& key) const {
  if (key.is_number) {
    const auto found = by_number.find(key.number);
    return found == by_number.end() ? nullptr : &found->second;
  }
  const auto found = by_bytes.find(key.bytes);
  return found == by_bytes.end() ? nullptr : &found->second;
}

Status LookupTable::Find(const Tensor& keys, const Tensor& default_value, Tensor& values) const {
  CARILLON_RETURN_IF_ERROR(CheckTypes(keys, default_value));
  const bool one_for_all = default_value.shape() == options_.value_shape;
  if (!one_for_all && default_value.shape() != values.shape()) {
    return InvalidArgument("Expected shape ", options_.value_shape.ToString(), " or ",
                           values.shape().ToString(), " for default value, got ",
                           default_value.shape().ToString());
  }
  const int64_t size = options_.value_shape.num_elements();
  const int64_t count =
      keys.num_elements() / std::max<int64_t>(1, options_.key_shape.num_elements());
  const DType dtype = options_.value_dtype;
  std::shared_lock lock(mutex_);
  if (options_.initialized_once && !initialized_) {
    return FailedPrecondition("Table not initialized.");
  }
  for (int64_t i = 0; i < count; ++i) {
    const Key key = KeyAt(keys, i);
    CARILLON_RETURN_IF_ERROR(CheckKey(key));
    const int64_t* row = entries_.FindRow(key);
    const void* from = row != nullptr ? entries_.values.row(*row)
                       : one_for_all  ? default_value.raw_data()
                                      : At(default_value, i * size);
    CopyElements(dtype, from, At(values, i * size), size);
  }
  return absl::OkStatus();
}

Status LookupTable::Put(const Tensor& keys, const Tensor& values, bool refuse_other_values,
                        Entries& entries) {
  const int64_t size = options_.value_shape.num_elements();
  const int64_t key_size = options_.key_shape.num_elements();
  const int64_t count = keys.num_elements() / std::max<int64_t>(1, key_size);
  int64_t numbers = 0, others = 0, text = 0;  // that come in, at most: keys may repeat
  for (int64_t i = 0; i < count; ++i) {
    const Key key = KeyAt(keys, i);
    CARILLON_RETURN_IF_ERROR(CheckKey(key));
    text += entries.values.TextAt(At(values, i * size));
    if (entries.FindRow(key) != nullptr) continue;
    ++(key.is_number ? numbers : others);
    text += entries.keys.TextAt(At(keys, i * key_size)) + BytesOfText(key.bytes.size());
  }
  const int64_t before = entries.bytes(), more = entries.BytesToGrow(numbers, others) + text;
  CARILLON_RETURN_IF_ERROR(charge_.Add(more));
  const WorkPause pause;
  const auto put = [&]() -> Status {
    const int64_t rows = entries.RowsWith(numbers + others);
    CARILLON_RETURN_IF_ERROR(entries.keys.Reserve(rows));
    CARILLON_RETURN_IF_ERROR(entries.values.Reserve(rows));
    for (int64_t i = 0; i < count; ++i) {
      Key key = KeyAt(keys, i);
      const void* value = At(values, i * size);
      if (const int64_t* row = entries.FindRow(key)) {
        if (refuse_other_values &&
            !SameRow(options_.value_dtype, entries.values.row(*row), value, size)) {
          return FailedPrecondition("HashTable has different value for same key. Entry ", i,
                                    " of table ", options_.name, " repeats a key");
        }
        entries.values.Set(*row, value);
        continue;
      }
      int64_t row;
      if (entries.free.empty()) {
        row = entries.keys.rows();
        entries.values.Append(value);
        entries.keys.Append(At(keys, i * key_size));
      } else {
        row = entries.free.back();
        entries.free.pop_back();
        entries.values.Set(row, value);
        entries.keys.Set(row, At(keys, i * key_size));
      }
      if (key.is_number) {
        entries.by_number.emplace(key.number, row);
      } else {
        key.bytes.shrink_to_fit();
        entries.key_text += BytesOfText(key.bytes.size());
        entries.by_bytes.emplace(std::move(key.bytes), row);
      }
    }
    return absl::OkStatus();
  };
  const Status status = put();
  charge_.Remove(more - (entries.bytes() - before));
  return status;
}

Status LookupTable::Replace(const Tensor& keys, const Tensor& values, bool refuse_other_values,
                            Entries* replaced) {
  *replaced = NoEntries();
  const Status status = Put(keys, values, refuse_other_values, *replaced);
  if (status.ok()) std::swap(entries_, *replaced);
  charge_.Remove(replaced->bytes());
  return status;
}

Status LookupTable::Insert(const Tensor& keys, const Tensor& values) {
  if (options_.initialized_once)
    return Unimplemented("Insert not supported by tables that are initialized once");
  CARILLON_RETURN_IF_ERROR(CheckEntries(keys, values));
  std::unique_lock lock(mutex_);
  return Put(keys, values, false, entries_);
}

Status LookupTable::Remove(const Tensor& keys) {
  if (options_.initialized_once)
    return Unimplemented("Remove not supported by tables that are initialized once");
  if (keys.dtype() != options_.key_dtype) {
    return InvalidArgument("the keys of table ", options_.name, " are ",
                           DTypeName(options_.key_dtype), ", not ", DTypeName(keys.dtype()));
  }
  CARILLON_RETURN_IF_ERROR(ValuesShape(keys.shape()).status());
  const int64_t count =
      keys.num_elements() / std::max<int64_t>(1, options_.key_shape.num_elements());
  std::unique_lock lock(mutex_);
  for (int64_t i = 0; i < count; ++i) {
    const Key key = KeyAt(keys, i);
    CARILLON_RETURN_IF_ERROR(CheckKey(key));
    const int64_t* row = entries_.FindRow(key);
    if (row == nullptr) continue;
    const WorkPause pause;
    const int64_t before = entries_.bytes();
    entries_.free.reserve(static_cast<size_t>(entries_.keys.room()));
    entries_.free.push_back(*row);
    entries_.keys.Empty(*row);
    entries_.values.Empty(*row);
    if (key.is_number) {
      entries_.by_number.erase(key.number);
    } else {
      entries_.key_text -= BytesOfText(key.bytes.size());
      entries_.by_bytes.erase(key.bytes);
    }
    charge_.Remove(before - entries_.bytes());
  }
  return absl::OkStatus();
}

Status LookupTable::Import(const Tensor& keys, const Tensor& values) {
  if (options_.initialized_once) return Initialize(keys, values);
  CARILLON_RETURN_IF_ERROR(CheckEntries(keys, values));
  Entries replaced = NoEntries();  // ends after the lock
  std::unique_lock lock(mutex_);
  return Replace(keys, values, false, &replaced);
}

Status LookupTable::Initialize(const Tensor& keys, const Tensor& values) {
  if (!options_.initialized_once)
    return InvalidArgument("Table ", options_.name, " is not initializable");
  if (keys.rank() != 1)
    return InvalidArgument("Keys must be a vector, but received shape", keys.shape().ToString());
  if (keys.num_elements() != values.num_elements()) {
    return InvalidArgument("Keys and values must have the same size ", keys.num_elements(), " vs ",
                           values.num_elements());
  }
  CARILLON_RETURN_IF_ERROR(CheckTypes(keys, values));
  Entries replaced = NoEntries();
  std::unique_lock lock(mutex_);
  if (initialized_) {
    if (keys.num_elements() == entries_.size()) return absl::OkStatus();
    return FailedPrecondition("Table was already initialized with different data.");
  }
  const Status status = Replace(keys, values, true, &replaced);
  initialized_ = status.ok();
  return status;
}

int64_t LookupTable::Size() const {
  std::shared_lock lock(mutex_);
  return entries_.size();
}

Status LookupTable::Export(Allocator* allocator, Tensor* keys, Tensor* values) const {
  std::shared_lock lock(mutex_);
  if (options_.initialized_once && !initialized_) {
    return absl::AbortedError("HashTable is not initialized.");
  }
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(entries_.size()));
  for (const auto& [key, row] : entries_.by_number) rows.push_back(row);
  for (const auto& [key, row] : entries_.by_bytes) rows.push_back(row);
  std::ranges::sort(rows);
  const auto copy = [&](const RowStore& from, DType dtype, const Shape& row, Tensor* to) -> Status {
    std::vector<int64_t> dims = {static_cast<int64_t>(rows.size())};
    dims.insert(dims.end(), row.dims().begin(), row.dims().end());
    Shape shape;
    if (Shape::TryMake(dims, &shape)) *to = Tensor::TryAllocate(dtype, shape, allocator);
    if (!to->has_value()) return ResourceExhausted("no memory for the entries of a table");
    for (size_t i = 0; i < rows.size(); ++i) {
      CopyElements(dtype, from.row(rows[i]), At(*to, static_cast<int64_t>(i) * row.num_elements()),
                   row.num_elements());
    }
    return absl::OkStatus();
  };
  CARILLON_RETURN_IF_ERROR(copy(entries_.keys, options_.key_dtype, options_.key_shape, keys));
  return copy(entries_.values, options_.value_dtype, options_.value_shape, values);
}

}  // namespace carillon
