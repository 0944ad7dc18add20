// Kernels that find repeated values: Unique and its kin, ListDiff.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "base/foreign_memory.h"
#include "graph/shape_context.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Floating types compare by value (a NaN equals nothing, 0 equals -0), the rest by their bytes.
template <typename Body>
bool DispatchComparable(DType dtype, Body&& body) {
  if (DispatchFloating(dtype, body)) return true;
  if (dtype == DType::kString) return DispatchAmong<std::string>(dtype, body);
  if (!IsPlainData(dtype)) return false;
  return DispatchBySize(dtype, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) body.template operator()<T>();
  });
}

template <typename T>
auto AsKey(const T& value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return absl::string_view(value.data(), value.size());
  } else {
    return value;
  }
}

// Rows of `width` elements, known by where they begin.
template <typename T>
struct RowHash {
  int64_t width;
  size_t operator()(const T* row) const {
    size_t hash = 0;
    for (int64_t i = 0; i < width; ++i) hash = absl::HashOf(hash, AsKey(row[i]));
    return hash;
  }
};
template <typename T>
struct RowEqual {
  int64_t width;
  bool operator()(const T* a, const T* b) const {
    for (int64_t i = 0; i < width; ++i) {
      if (!(AsKey(a[i]) == AsKey(b[i]))) return false;
    }
    return true;
  }
};

// A flat hash table, which is not made for what operator new may throw: its room is counted, and
// made, before anything is put into it.
template <typename Table>
class CountedTable {
 public:
  explicit CountedTable(Table table) : table_(std::move(table)) {}
  const Table& get() const { return table_; }
  // With room for one more.
  Table& ToInsert() {
    if (table_.size() == room_) Grow();
    return table_;
  }

 private:
  void Grow() {
    const size_t room = std::max<size_t>(16, 2 * room_);
    constexpr size_t kSlot = sizeof(typename Table::value_type) + 1;
    auto memory = std::make_unique<ForeignMemory>(2 * room * kSlot);
    const WorkPause pause;
    table_.reserve(room);
    memory_ = std::move(memory);
    room_ = room;
  }

  Table table_;
  size_t room_ = 0;
  std::unique_ptr<ForeignMemory> memory_;
};

// For each row the number of its kind, kinds numbered as they first appear. A row with a NaN is not
// even equal to itself: it never enters a hash table, and is a kind of its own.
struct Kinds {
  std::vector<int64_t> kind_of_row;
  std::vector<int64_t> first_row;
  std::vector<int64_t> count;
};

template <typename T>
Kinds FindKinds(const T* rows, int64_t count, int64_t width) {
  Kinds kinds;
  kinds.kind_of_row.reserve(static_cast<size_t>(count));
  using Table = absl::flat_hash_map<const T*, int64_t, RowHash<T>, RowEqual<T>>;
  CountedTable<Table> known(Table(0, RowHash<T>{width}, RowEqual<T>{width}));
  for (int64_t i = 0; i < count; ++i) {
    const T* row = rows + i * width;
    int64_t kind = static_cast<int64_t>(kinds.first_row.size());
    if (RowEqual<T>{width}(row, row)) kind = known.ToInsert().try_emplace(row, kind).first->second;
    if (kind == static_cast<int64_t>(kinds.first_row.size())) {
      kinds.first_row.push_back(i);
      kinds.count.push_back(0);
    }
    ++kinds.count[static_cast<size_t>(kind)];
    kinds.kind_of_row.push_back(kind);
  }
  return kinds;
}

Status SetIntegers(KernelContext& context, int output_index, std::span<const int64_t> values) {
  CARILLON_ASSIGN_OR_RETURN(
      Tensor * output,
      context.AllocateOutput(output_index, Shape{static_cast<int64_t>(values.size())}));
  DispatchAmong<int32_t, int64_t>(output->dtype(), [&]<typename T>() {
    std::ranges::transform(values, output->mutable_data<T>(),
                           [](int64_t value) { return static_cast<T>(value); });
  });
  return absl::OkStatus();
}

// Unique, UniqueV2 and the two WithCounts: the kinds of slices along one dimension.
Status RunUnique(KernelContext& context) {
  const Tensor& x = context.input(0);
  int axis = 0;
  if (context.num_inputs() > 1 && context.input(1).num_elements() != 0) {
    CARILLON_ASSIGN_OR_RETURN(const Ints axes, ReadVector(context.input(1), 1, "axis"));
    CARILLON_ASSIGN_OR_RETURN(axis, ResolveAxis(axes[0], x.rank()));
  } else if (x.rank() != 1) {
    return InvalidArgument("without an axis x should be a vector but it has shape ",
                           x.shape().ToString());
  }
  const int64_t count = x.dim(axis);
  if (context.output_dtype(1) == DType::kInt32 && count > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("x has too many elements for int32 indices: set out_idx to int64");
  }
  // Slices become rows; a vector is already in that order.
  const int64_t before = ElementsBefore(x.shape(), axis);
  const int64_t after = ElementsFrom(x.shape(), axis + 1);
  const int64_t width = x.num_elements() == 0 ? 0 : before * after;
  Tensor rows = x;
  if (before > 1 && width > 0) {
    CARILLON_ASSIGN_OR_RETURN(rows, context.AllocateTemporary(x.dtype(), Shape{count, width}));
    CopyStrided(x.dtype(), x.raw_data(), rows.mutable_raw_data(),
                {{count, after, width}, {before, count * after, after}, {after, 1, 1}});
  }
  Kinds kinds;
  if (!DispatchComparable(x.dtype(), [&]<typename T>() {
        kinds = FindKinds(static_cast<const T*>(rows.raw_data()), count, width);
      })) {
    return Unimplemented("values of dtype ", DTypeName(x.dtype()), " cannot be compared");
  }
  Ints dims(x.shape().dims().begin(), x.shape().dims().end());
  dims[static_cast<size_t>(axis)] = static_cast<int64_t>(kinds.first_row.size());
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
  CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, shape));
  if (shape.num_elements() > 0) {
    const int64_t stride = ElementsFrom(shape, axis);
    for (size_t i = 0; i < kinds.first_row.size(); ++i) {
      CopyStrided(x.dtype(), At(std::as_const(rows), kinds.first_row[i] * width),
                  At(*y, static_cast<int64_t>(i) * after),
                  {{before, after, stride}, {after, 1, 1}});
    }
  }
  CARILLON_RETURN_IF_ERROR(SetIntegers(context, 1, kinds.kind_of_row));
  return context.num_outputs() > 2 ? SetIntegers(context, 2, kinds.count) : absl::OkStatus();
}

// The elements of x that are not in y, and where they stand in x.
Status RunListDiff(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& y = context.input(1);
  if (x.rank() != 1 || y.rank() != 1) {
    return InvalidArgument("x and y should be vectors but have shapes ", x.shape().ToString(),
                           " and ", y.shape().ToString());
  }
  if (context.output_dtype(1) == DType::kInt32 && x.dim(0) > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("x has too many elements for int32 indices: set out_idx to int64");
  }
  std::vector<int64_t> kept;
  if (!DispatchComparable(x.dtype(), [&]<typename T>() {
        const T* from = static_cast<const T*>(x.raw_data());
        const T* without = static_cast<const T*>(y.raw_data());
        using Table = absl::flat_hash_set<const T*, RowHash<T>, RowEqual<T>>;
        CountedTable<Table> excluded(Table(0, RowHash<T>{1}, RowEqual<T>{1}));
        for (int64_t i = 0; i < y.dim(0); ++i) {
          if (RowEqual<T>{1}(without + i, without + i)) excluded.ToInsert().insert(without + i);
        }
        for (int64_t i = 0; i < x.dim(0); ++i) {
          if (!excluded.get().contains(from + i)) kept.push_back(i);
        }
      })) {
    return Unimplemented("values of dtype ", DTypeName(x.dtype()), " cannot be compared");
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out,
                            context.AllocateOutput(0, Shape{static_cast<int64_t>(kept.size())}));
  DispatchBySize(x.dtype(), [&]<typename T>() {
    const T* from = static_cast<const T*>(x.raw_data());
    T* to = static_cast<T*>(out->mutable_raw_data());
    for (const int64_t i : kept) *to++ = from[i];
  });
  return SetIntegers(context, 1, kept);
}

}  // namespace

void AddArrayUniqueKernels(KernelTable& table) {
  table.Add({
      {"Unique", "ref", FromFunction<RunUnique>},
      {"UniqueV2", "ref", FromFunction<RunUnique>},
      {"UniqueWithCounts", "ref", FromFunction<RunUnique>},
      {"UniqueWithCountsV2", "ref", FromFunction<RunUnique>},
      {"ListDiff", "ref", FromFunction<RunListDiff>},
  });
}

}  // namespace carillon
