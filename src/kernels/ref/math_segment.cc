// Rows that are combined by the segment they belong to: SegmentSum, UnsortedSegmentMax, …
#include <algorithm>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/math.h"

namespace carillon {
namespace {

enum class Segment { kSum, kMean, kMax, kMin, kProd };

BinaryLoop FindCombine(Segment op, DType dtype) {
  switch (op) {
    case Segment::kSum:
    case Segment::kMean:
      return FindArithmeticLoop(Arithmetic::kAdd, dtype);
    case Segment::kMax:
      return FindArithmeticLoop(Arithmetic::kMaximum, dtype);
    case Segment::kMin:
      return FindArithmeticLoop(Arithmetic::kMinimum, dtype);
    case Segment::kProd:
      return FindArithmeticLoop(Arithmetic::kMultiply, dtype);
  }
  return nullptr;
}

enum class Fill { kZero, kOne, kLowest, kHighest };

void FillRow(Fill fill, DType dtype, void* row, int64_t n) {
  DispatchNumber(dtype, [&]<typename T>() {
    using Limits = std::numeric_limits<T>;
    T value(0);
    if (fill == Fill::kOne) value = T(1);
    if constexpr (kIsSmallFloat<T>) {  // the largest finite numbers, by their bits
      constexpr uint16_t kMost = std::is_same_v<T, Half> ? 0x7bff : 0x7f7f;
      if (fill == Fill::kHighest) value.bits = kMost;
      if (fill == Fill::kLowest) value.bits = kMost | 0x8000;
    } else {
      if (fill == Fill::kHighest) value = Limits::max();
      if (fill == Fill::kLowest) value = Limits::lowest();
    }
    std::fill_n(static_cast<T*>(row), n, value);
  });
}

void DivideRow(int64_t count, DType dtype, void* row, int64_t n) {
  DispatchNumber(dtype, [&]<typename T>() {
    using Wide = std::conditional_t<kIsFloating<T>, Compute<T>,
                                    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    T* elements = static_cast<T*>(row);
    for (int64_t j = 0; j < n; ++j)
      elements[j] = static_cast<T>(static_cast<Wide>(elements[j]) / static_cast<Wide>(count));
  });
}

// Ranges of columns for several threads: each walks all rows, and no two touch the same output.
void ForColumns(int64_t rows, int64_t columns, absl::FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t grain = std::max<int64_t>(64, 64 * 1024 / std::max<int64_t>(rows, 1));
  ParallelFor(columns, grain, body);
}

// Segment ids that never fall; gaps are allowed, and hold 0 (or 1 for products).
class SortedSegmentKernel final : public Kernel {
 public:
  SortedSegmentKernel(Segment op, DType dtype)
      : op_(op), dtype_(dtype), size_(DTypeSize(dtype)), combine_(FindCombine(op, dtype)) {}

  Status Run(KernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& ids = context.input(1);
    if (data.rank() == 0) return InvalidArgument("input must be at least rank 1");
    if (ids.rank() != 1) return InvalidArgument("segment_ids should be a vector.");
    if (ids.dim(0) != data.dim(0)) {
      return InvalidArgument("segment_ids should be the same size as dimension 0 of input.");
    }
    const int64_t rows = ids.dim(0);
    int64_t previous = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id < previous) {
        if (i > 0) return InvalidArgument("segment ids are not increasing");
        return InvalidArgument("segment id ", id, " should not be negative");
      }
      previous = id;
    }
    if (previous == std::numeric_limits<int64_t>::max())
      return InvalidArgument("segment id ", previous, " is too large");
    Shape shape;
    std::array<int64_t, kMaxRank> dims{};
    std::copy(data.shape().dims().begin(), data.shape().dims().end(), dims.begin());
    dims[0] = rows == 0 ? 0 : previous + 1;
    if (!Shape::TryMake({dims.data(), static_cast<size_t>(data.rank())}, &shape))
      return InvalidArgument("segment id ", previous, " makes the output too large");
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    const int64_t columns = out->num_elements() / shape.dim(0);
    ForColumns(rows, columns, [&](int64_t begin, int64_t end) {
      CombineColumns(data, ids, columns, begin, end, out);
    });
    return absl::OkStatus();
  }

 private:
  void CombineColumns(const Tensor& data, const Tensor& ids, int64_t columns, int64_t begin,
                      int64_t end, Tensor* out) const {
    const int64_t n = end - begin;
    const auto row_of = [&](auto* base, int64_t row) {
      return base + static_cast<size_t>(row * columns + begin) * size_;
    };
    const char* from = static_cast<const char*>(data.raw_data());
    char* to = static_cast<char*>(out->mutable_raw_data());
    const Fill fill = op_ == Segment::kProd ? Fill::kOne : Fill::kZero;
    int64_t next = 0;  // the first output row that is not written yet
    for (int64_t i = 0; i < ids.dim(0);) {
      const int64_t id = IndexAt(ids, i);
      for (; next < id; ++next) FillRow(fill, dtype_, row_of(to, next), n);
      char* row = row_of(to, id);
      const int64_t first = i;
      std::memcpy(row, row_of(from, i++), static_cast<size_t>(n) * size_);
      for (; i < ids.dim(0) && IndexAt(ids, i) == id; ++i)
        combine_(row, 1, row_of(from, i), 1, row, n);
      if (op_ == Segment::kMean) DivideRow(i - first, dtype_, row, n);
      next = id + 1;
    }
  }

  const Segment op_;
  const DType dtype_;
  const size_t size_;
  const BinaryLoop combine_;
};

// Ids in any order, one for each of the leading dimensions' elements; those below zero are dropped.
class UnsortedSegmentKernel final : public Kernel {
 public:
  UnsortedSegmentKernel(Segment op, DType dtype)
      : op_(op), dtype_(dtype), size_(DTypeSize(dtype)), combine_(FindCombine(op, dtype)) {}

  Status Run(KernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& ids = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const int64_t segments,
                              ScalarIndex(context.input(2), "num_segments"));
    if (segments < 0)
      return InvalidArgument("Input num_segments == ", segments, " must not be negative.");
    if (data.rank() < ids.rank() ||
        !std::equal(ids.shape().dims().begin(), ids.shape().dims().end(),
                    data.shape().dims().begin())) {
      return InvalidArgument("data.shape = ", data.shape().ToString(),
                             " does not start with segment_ids.shape = ", ids.shape().ToString());
    }
    const int64_t rows = ids.num_elements();
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id >= segments) {
        return InvalidArgument("segment_ids[", i, "] = ", id, " is out of range [0, ", segments,
                               ")");
      }
    }
    std::array<int64_t, kMaxRank + 1> dims{segments};
    std::copy(data.shape().dims().begin() + ids.rank(), data.shape().dims().end(),
              dims.begin() + 1);
    Shape shape;
    if (!Shape::TryMake({dims.data(), static_cast<size_t>(data.rank() - ids.rank() + 1)}, &shape))
      return InvalidArgument("num_segments = ", segments, " makes the output too large");
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    FillRow(op_ == Segment::kSum    ? Fill::kZero
            : op_ == Segment::kProd ? Fill::kOne
            : op_ == Segment::kMax  ? Fill::kLowest
                                    : Fill::kHighest,
            dtype_, out->mutable_raw_data(), out->num_elements());
    if (out->num_elements() == 0) return absl::OkStatus();
    const int64_t columns = out->num_elements() / segments;
    const char* from = static_cast<const char*>(data.raw_data());
    char* to = static_cast<char*>(out->mutable_raw_data());
    ForColumns(rows, columns, [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t id = IndexAt(ids, i);
        if (id < 0) continue;
        char* row = to + static_cast<size_t>(id * columns + begin) * size_;
        combine_(row, 1, from + static_cast<size_t>(i * columns + begin) * size_, 1, row,
                 end - begin);
      }
    });
    return absl::OkStatus();
  }

 private:
  const Segment op_;
  const DType dtype_;
  const size_t size_;
  const BinaryLoop combine_;
};

template <typename K, Segment op>
KernelResult FromSegment(const KernelRequest& request) {
  const DType dtype = request.input_dtype(0);
  if (FindCombine(op, dtype) == nullptr) return Unimplemented("no segments of ", DTypeName(dtype));
  return std::make_unique<K>(op, dtype);
}

}  // namespace

void AddMathSegmentKernels(KernelTable& table) {
  using Sorted = SortedSegmentKernel;
  using Unsorted = UnsortedSegmentKernel;
  table.Add({
      {"SegmentSum", "ref", FromSegment<Sorted, Segment::kSum>},
      {"SegmentMean", "ref", FromSegment<Sorted, Segment::kMean>},
      {"SegmentMax", "ref", FromSegment<Sorted, Segment::kMax>},
      {"SegmentMin", "ref", FromSegment<Sorted, Segment::kMin>},
      {"SegmentProd", "ref", FromSegment<Sorted, Segment::kProd>},
      {"UnsortedSegmentSum", "ref", FromSegment<Unsorted, Segment::kSum>},
      {"UnsortedSegmentMax", "ref", FromSegment<Unsorted, Segment::kMax>},
      {"UnsortedSegmentMin", "ref", FromSegment<Unsorted, Segment::kMin>},
      {"UnsortedSegmentProd", "ref", FromSegment<Unsorted, Segment::kProd>},
  });
}

}  // namespace carillon
