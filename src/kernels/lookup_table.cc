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

}  // namespace

const void* RowStore::row(int64_t i) const { return At(data_, i * row_.num_elements()); }
void* RowStore::mutable_row(int64_t i) { return At(data_, i * row_.num_elements()); }

Status RowStore::Append(const void* from) {
  const int64_t room = data_.has_value() ? data_.dim(0) : 0;
  if (rows_ == room) {
    std::vector<int64_t> dims = {std::max<int64_t>(16, room + room / 2)};
    dims.insert(dims.end(), row_.dims().begin(), row_.dims().end());
    Shape shape;
    Tensor larger;
    if (Shape::TryMake(dims, &shape)) larger = Tensor::TryAllocate(dtype_, shape, HostAllocator());
    if (!larger.has_value())
      return ResourceExhausted("no memory for ", dims[0], " rows of a table");
    if (rows_ > 0) {
      CopyElements(dtype_, data_.raw_data(), larger.mutable_raw_data(),
                   rows_ * row_.num_elements());
    }
    data_ = std::move(larger);
  }
  Set(rows_++, from);
  return absl::OkStatus();
}

void RowStore::Set(int64_t i, const void* from) {
  CopyElements(dtype_, from, mutable_row(i), row_.num_elements());
}

void RowStore::Clear() {
  data_ = Tensor();
  rows_ = 0;
}

LookupTable::LookupTable(LookupTableOptions options)
    : options_(std::move(options)),
      keys_(options_.key_dtype, options_.key_shape),
      values_(options_.value_dtype, options_.value_shape) {
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

const int64_t* LookupTable::FindRow(const Key& key) const {
  if (key.is_number) {
    const auto found = by_number_.find(key.number);
    return found == by_number_.end() ? nullptr : &found->second;
  }
  const auto found = by_bytes_.find(key.bytes);
  return found == by_bytes_.end() ? nullptr : &found->second;
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
    const int64_t* row = FindRow(key);
    const void* from = row != nullptr ? values_.row(*row)
                       : one_for_all  ? default_value.raw_data()
                                      : At(default_value, i * size);
    CopyElements(dtype, from, At(values, i * size), size);
  }
  return absl::OkStatus();
}

Status LookupTable::Put(const Tensor& keys, const Tensor& values, bool refuse_other_values) {
  const int64_t size = options_.value_shape.num_elements();
  const int64_t key_size = options_.key_shape.num_elements();
  const int64_t count = keys.num_elements() / std::max<int64_t>(1, key_size);
  for (int64_t i = 0; i < count; ++i) CARILLON_RETURN_IF_ERROR(CheckKey(KeyAt(keys, i)));
  for (int64_t i = 0; i < count; ++i) {
    Key key = KeyAt(keys, i);
    const void* value = At(values, i * size);
    if (const int64_t* row = FindRow(key)) {
      if (refuse_other_values && !SameRow(options_.value_dtype, values_.row(*row), value, size)) {
        return FailedPrecondition("HashTable has different value for same key. Entry ", i,
                                  " of table ", options_.name, " repeats a key");
      }
      values_.Set(*row, value);
      continue;
    }
    int64_t row;
    if (free_.empty()) {
      row = keys_.rows();
      CARILLON_RETURN_IF_ERROR(values_.Append(value));
      CARILLON_RETURN_IF_ERROR(keys_.Append(At(keys, i * key_size)));
    } else {
      row = free_.back();
      free_.pop_back();
      values_.Set(row, value);
      keys_.Set(row, At(keys, i * key_size));
    }
    if (key.is_number) {
      by_number_.emplace(key.number, row);
    } else {
      by_bytes_.emplace(std::move(key.bytes), row);
    }
  }
  return absl::OkStatus();
}

void LookupTable::Clear() {
  by_number_.clear();
  by_bytes_.clear();
  keys_.Clear();
  values_.Clear();
  free_.clear();
}

Status LookupTable::Insert(const Tensor& keys, const Tensor& values) {
  if (options_.initialized_once)
    return Unimplemented("Insert not supported by tables that are initialized once");
  CARILLON_RETURN_IF_ERROR(CheckEntries(keys, values));
  std::unique_lock lock(mutex_);
  return Put(keys, values, false);
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
    const int64_t* row = FindRow(key);
    if (row == nullptr) continue;
    free_.push_back(*row);
    if (key.is_number) {
      by_number_.erase(key.number);
    } else {
      by_bytes_.erase(key.bytes);
    }
  }
  return absl::OkStatus();
}

Status LookupTable::Import(const Tensor& keys, const Tensor& values) {
  if (options_.initialized_once) return Initialize(keys, values);
  CARILLON_RETURN_IF_ERROR(CheckEntries(keys, values));
  std::unique_lock lock(mutex_);
  Clear();
  return Put(keys, values, false);
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
  std::unique_lock lock(mutex_);
  if (initialized_) {
    if (keys.num_elements() == static_cast<int64_t>(by_number_.size() + by_bytes_.size()))
      return absl::OkStatus();
    return FailedPrecondition("Table was already initialized with different data.");
  }
  const Status status = Put(keys, values, true);
  if (!status.ok()) Clear();
  initialized_ = status.ok();
  return status;
}

int64_t LookupTable::Size() const {
  std::shared_lock lock(mutex_);
  return static_cast<int64_t>(by_number_.size() + by_bytes_.size());
}

Status LookupTable::Export(Tensor* keys, Tensor* values) const {
  std::shared_lock lock(mutex_);
  if (options_.initialized_once && !initialized_) {
    return absl::AbortedError("HashTable is not initialized.");
  }
  std::vector<int64_t> rows;
  rows.reserve(by_number_.size() + by_bytes_.size());
  for (const auto& [key, row] : by_number_) rows.push_back(row);
  for (const auto& [key, row] : by_bytes_) rows.push_back(row);
  std::ranges::sort(rows);
  const auto copy = [&](const RowStore& from, DType dtype, const Shape& row, Tensor* to) -> Status {
    std::vector<int64_t> dims = {static_cast<int64_t>(rows.size())};
    dims.insert(dims.end(), row.dims().begin(), row.dims().end());
    Shape shape;
    if (Shape::TryMake(dims, &shape)) *to = Tensor::TryAllocate(dtype, shape, HostAllocator());
    if (!to->has_value()) return ResourceExhausted("no memory for the entries of a table");
    for (size_t i = 0; i < rows.size(); ++i) {
      CopyElements(dtype, from.row(rows[i]), At(*to, static_cast<int64_t>(i) * row.num_elements()),
                   row.num_elements());
    }
    return absl::OkStatus();
  };
  CARILLON_RETURN_IF_ERROR(copy(keys_, options_.key_dtype, options_.key_shape, keys));
  return copy(values_, options_.value_dtype, options_.value_shape, values);
}

}  // namespace carillon
