// Rows picked by index, then combined by segment: what embeddings of several words a example are
// made with; and the gradients.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/math.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

enum class Scale { kNone, kMean, kSqrtN };

// A row may be picked any number of times: how often it is asked whether that is still wanted.
constexpr int64_t kLooks = 4096;

double ScaleOf(Scale scale, int64_t count) {
  switch (scale) {
    case Scale::kNone:
      return 1;
    case Scale::kMean:
      return 1.0 / static_cast<double>(count);
    case Scale::kSqrtN:
      return 1.0 / std::sqrt(static_cast<double>(count));
  }
  return 1;
}

Status CheckVectors(const Tensor& indices, const Tensor& ids) {
  if (indices.rank() != 1) return InvalidArgument("indices should be a vector.");
  if (ids.rank() != 1) return InvalidArgument("segment_ids should be a vector.");
  if (indices.dim(0) != ids.dim(0))
    return InvalidArgument("segment_ids and indices should have same size.");
  return absl::OkStatus();
}

// `shape` with `rows` rows.
StatusOr<Shape> WithRows(const Shape& shape, int64_t rows, std::string_view what) {
  std::array<int64_t, kMaxRank> dims{};
  std::copy(shape.dims().begin(), shape.dims().end(), dims.begin());
  dims[0] = rows;
  Shape result;
  if (!Shape::TryMake({dims.data(), static_cast<size_t>(shape.rank())}, &result))
    return InvalidArgument(what, " = ", rows, " makes the output too large");
  return result;
}

// out[s] = scale · Σ data[indices[i]] over the i of segment s, with ids that never fall.
class SparseSegmentKernel final : public Kernel {
 public:
  SparseSegmentKernel(Scale scale, bool has_num_segments)
      : scale_(scale), has_num_segments_(has_num_segments) {}

  Status Run(KernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& indices = context.input(1);
    const Tensor& ids = context.input(2);
    CARILLON_RETURN_IF_ERROR(CheckVectors(indices, ids));
    if (data.rank() == 0) return InvalidArgument("data should be at least a vector");
    const int64_t n = ids.dim(0);
    int64_t previous = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id < previous) {
        if (i > 0) return InvalidArgument("segment ids are not increasing");
        return InvalidArgument("segment ids must be >= 0, but the first is ", id);
      }
      previous = id;
      const int64_t index = IndexAt(indices, i);
      if (index < 0 || index >= data.dim(0)) {
        return InvalidArgument("indices[", i, "] == ", index, " out of range [0, ", data.dim(0),
                               ")");
      }
    }
    if (previous == std::numeric_limits<int64_t>::max())
      return InvalidArgument("segment id ", previous, " is too large");
    int64_t segments = n == 0 ? 0 : previous + 1;
    if (has_num_segments_) {
      const int64_t least = segments;
      CARILLON_ASSIGN_OR_RETURN(segments, ScalarIndex(context.input(3), "num_segments"));
      if (segments < 0) return InvalidArgument("num_segments should not be negative: ", segments);
      if (segments < least)
        return InvalidArgument("segment ids must be < num_segments, but ", previous, " is not < ",
                               segments);
    }
    CARILLON_ASSIGN_OR_RETURN(const Shape shape,
                              WithRows(data.shape(), segments, "the number of segments"));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    DispatchNumber(data.dtype(), [&]<typename T>() { Sum<T>(data, indices, ids, out); });
    return CheckWanted();
  }

 private:
  template <typename T>
  void Sum(const Tensor& data, const Tensor& indices, const Tensor& ids, Tensor* out) const {
    using C = Compute<T>;
    constexpr int64_t kWidth = 256;
    const int64_t columns = out->num_elements() / out->dim(0);
    const T* from = data.data<T>();
    T* to = out->mutable_data<T>();
    std::memset(static_cast<void*>(to), 0, out->num_bytes());  // the rows of empty segments
    const int64_t n = ids.dim(0);
    const int64_t grain = std::max<int64_t>(64, 64 * 1024 / std::max<int64_t>(n, 1));
    ParallelFor(columns, grain, [&](int64_t begin, int64_t end) {
      for (int64_t column = begin; column < end; column += kWidth) {
        const int64_t width = std::min(kWidth, end - column);
        C sums[kWidth];
        for (int64_t i = 0; i < n;) {
          const int64_t id = IndexAt(ids, i);
          const int64_t first = i;
          if (WorkIsCancelled()) return;
          std::fill_n(sums, width, C(0));
          for (; i < n && IndexAt(ids, i) == id; ++i) {
            if (i % kLooks == 0 && WorkIsCancelled()) return;
            const T* row = from + IndexAt(indices, i) * columns + column;
            for (int64_t j = 0; j < width; ++j) sums[j] = WrapAdd<C>(sums[j], row[j]);
          }
          T* result = to + id * columns + column;
          if (scale_ == Scale::kNone) {
            for (int64_t j = 0; j < width; ++j) result[j] = static_cast<T>(sums[j]);
          } else {
            const C factor = static_cast<C>(ScaleOf(scale_, i - first));
            for (int64_t j = 0; j < width; ++j) result[j] = static_cast<T>(sums[j] * factor);
          }
        }
      }
    });
  }

  const Scale scale_;
  const bool has_num_segments_;
};

// Sorts values in blocks, which are merged: in between it is asked whether that is still wanted.
void SortIndices(int64_t* begin, int64_t* end) {
  constexpr int64_t kBlock = 1 << 20;
  if (WorkIsCancelled()) return;
  if (end - begin <= kBlock) return std::sort(begin, end);
  int64_t* middle = begin + (end - begin) / 2;
  SortIndices(begin, middle);
  SortIndices(middle, end);
  if (!WorkIsCancelled()) std::inplace_merge(begin, middle, end);
}

// Each index once, in rising order.
std::vector<int64_t> SortedUnique(const Tensor& indices) {
  std::vector<int64_t> values(static_cast<size_t>(indices.dim(0)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = IndexAt(indices, static_cast<int64_t>(i));
  SortIndices(values.data(), values.data() + values.size());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

Status CheckPicks(const Tensor& grad, const Tensor& indices, const Tensor& ids, int64_t rows) {
  for (int64_t i = 0; i < ids.dim(0); ++i) {
    const int64_t id = IndexAt(ids, i);
    if (id < 0 || id >= grad.dim(0))
      return InvalidArgument("Segment id ", id, " out of range [0, ", grad.dim(0), ").");
    const int64_t index = IndexAt(indices, i);
    if (index < 0 || index >= rows)
      return InvalidArgument("Index ", index, " out of range [0, ", rows, ").");
  }
  return absl::OkStatus();
}

// out[indices[i]] += scale · grad[segment_ids[i]]. V2 leaves out the rows that nothing is added to,
// and says which ones there are.
class SparseSegmentGradKernel final : public Kernel {
 public:
  SparseSegmentGradKernel(Scale scale, bool is_compact) : scale_(scale), is_compact_(is_compact) {}

  Status Run(KernelContext& context) override {
    const Tensor& grad = context.input(0);
    const Tensor& indices = context.input(1);
    const Tensor& ids = context.input(2);
    CARILLON_RETURN_IF_ERROR(CheckVectors(indices, ids));
    if (grad.rank() == 0) return InvalidArgument("grad should be at least a vector");
    const char* const what = is_compact_ ? "dense_output_dim0" : "output_dim0";
    CARILLON_ASSIGN_OR_RETURN(int64_t rows, ScalarIndex(context.input(3), what));
    if (rows < 0) return InvalidArgument("Expected a non-negative size, got ", rows);
    // Of no rows at all the indices are not looked at, as in TensorFlow.
    if (rows > 0) CARILLON_RETURN_IF_ERROR(CheckPicks(grad, indices, ids, rows));
    std::vector<int64_t> picked;
    if (is_compact_) {
      if (rows > 0) picked = SortedUnique(indices);
      CARILLON_RETURN_IF_ERROR(CheckWanted());
      rows = static_cast<int64_t>(picked.size());
      CARILLON_ASSIGN_OR_RETURN(Tensor * unique, context.AllocateOutput(1, Shape{rows}));
      DispatchAmong<int32_t, int64_t>(unique->dtype(), [&]<typename Index>() {
        std::copy_n(picked.data(), rows, unique->mutable_data<Index>());
      });
    }
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, WithRows(grad.shape(), rows, what));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    // A gradient without elements may have any number of rows: there is nothing to count for them.
    if (out->num_elements() == 0) return absl::OkStatus();
    std::vector<int64_t> counts(static_cast<size_t>(grad.dim(0)));
    for (int64_t i = 0; i < ids.dim(0); ++i) ++counts[static_cast<size_t>(IndexAt(ids, i))];
    // Sums of 16-bit floats are kept in float until they are complete.
    const bool is_small = grad.dtype() == DType::kHalf || grad.dtype() == DType::kBfloat16;
    Tensor wide;
    if (is_small) {
      CARILLON_ASSIGN_OR_RETURN(wide, context.AllocateTemporary(kFloat, shape));
    }
    DispatchFloating(grad.dtype(), [&]<typename T>() {
      using C = Compute<T>;
      C* sums = (is_small ? wide : *out).template mutable_data<C>();
      Spread<T, C>(grad, indices, ids, counts, picked, out->num_elements() / rows, rows, sums);
      if (is_small) std::copy_n(sums, out->num_elements(), out->mutable_data<T>());
    });
    return CheckWanted();
  }

 private:
  template <typename T, typename C>
  void Spread(const Tensor& grad, const Tensor& indices, const Tensor& ids,
              const std::vector<int64_t>& counts, const std::vector<int64_t>& picked,
              int64_t columns, int64_t rows, C* sums) const {
    const T* from = grad.data<T>();
    std::fill_n(sums, rows * columns, C(0));
    for (int64_t i = 0; i < ids.dim(0); ++i) {
      if (WorkIsCancelled()) return;
      const int64_t id = IndexAt(ids, i);
      const C factor = static_cast<C>(ScaleOf(scale_, counts[static_cast<size_t>(id)]));
      const T* row = from + id * columns;
      int64_t place = IndexAt(indices, i);
      if (is_compact_)
        place = std::lower_bound(picked.begin(), picked.end(), place) - picked.begin();
      C* target = sums + place * columns;
      for (int64_t j = 0; j < columns; ++j) target[j] += factor * static_cast<C>(row[j]);
    }
  }

  const Scale scale_;
  const bool is_compact_;
};

template <Scale scale>
KernelResult FromSegments(const KernelRequest& request) {
  return std::make_unique<SparseSegmentKernel>(scale, request.node.num_inputs() > 3);
}
template <Scale scale>
KernelResult FromGradient(const KernelRequest& request) {
  return std::make_unique<SparseSegmentGradKernel>(scale, request.node.num_outputs() > 1);
}

}  // namespace

void AddMathSparseSegmentKernels(KernelTable& table) {
  table.Add({
      {"SparseSegmentSum", "ref", FromSegments<Scale::kNone>},
      {"SparseSegmentMean", "ref", FromSegments<Scale::kMean>},
      {"SparseSegmentSqrtN", "ref", FromSegments<Scale::kSqrtN>},
      {"SparseSegmentSumWithNumSegments", "ref", FromSegments<Scale::kNone>},
      {"SparseSegmentMeanWithNumSegments", "ref", FromSegments<Scale::kMean>},
      {"SparseSegmentSqrtNWithNumSegments", "ref", FromSegments<Scale::kSqrtN>},
      {"SparseSegmentSumGrad", "ref", FromGradient<Scale::kNone>},
      {"SparseSegmentMeanGrad", "ref", FromGradient<Scale::kMean>},
      {"SparseSegmentSqrtNGrad", "ref", FromGradient<Scale::kSqrtN>},
      {"SparseSegmentSumGradV2", "ref", FromGradient<Scale::kNone>},
      {"SparseSegmentMeanGradV2", "ref", FromGradient<Scale::kMean>},
      {"SparseSegmentSqrtNGradV2", "ref", FromGradient<Scale::kSqrtN>},
  });
}

}  // namespace carillon
