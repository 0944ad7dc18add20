// Accumulators of gradients that are rows of a larger tensor.
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "kernels/accumulator.h"
#include "kernels/named_resource.h"
#include "kernels/ref/accumulate.h"

namespace carillon {
namespace {

// The rows of all gradients, merged as sorted sequences are: equal indices that meet add up.
// Indices that are not sorted, or repeat within a gradient, stay apart, as in TensorFlow; whoever
// applies the rows adds them up then.
class SparseAccumulator final : public Accumulator {
 public:
  SparseAccumulator(AccumulatorOptions options, Allocator* allocator)
      : Accumulator(std::move(options)), charge_(allocator) {}

 private:
  // Where a row of the merged sum comes from; -1: from nowhere.
  struct Source {
    int64_t sum;
    int64_t gradient;
  };

  Status Check(const AccumulatedGradient& gradient) const override {
    const Tensor &indices = gradient.indices, &values = gradient.values, &shape = gradient.shape;
    const PartialShape& declared = options().shape;
    if (indices.rank() != 1) {
      return InvalidArgument("Input indices should be vector but received shape: ",
                             indices.shape().ToString());
    }
    if (values.rank() == 0) return InvalidArgument("Values cannot be 0-dimensional.");
    if (values.dim(0) != indices.dim(0)) {
      return InvalidArgument("Expected ", indices.dim(0), " non-empty input values, got ",
                             values.dim(0));
    }
    if (shape.has_value()) CARILLON_RETURN_IF_ERROR(CheckShape(shape));
    if (declared.has_rank()) {
      if (values.rank() < declared.rank()) {
        return InvalidArgument("Shape mismatch: expected values rank at least ", declared.rank(),
                               ", got ", values.rank());
      }
      CARILLON_RETURN_IF_ERROR(CheckRows(values.shape(), declared));
      if (declared.rank() > 0 && declared.dim(0) >= 0) {
        for (const int64_t index : indices.values<int64_t>()) {
          if (index >= declared.dim(0)) {
            return InvalidArgument("Shape mismatch: an index exceeded the limits of the shape; it ",
                                   "is ", index, " and the limit ", declared.dim(0));
          }
        }
      }
    }
    if (!values_.has_value()) return absl::OkStatus();
    if (values.rank() != values_.rank()) {
      return InvalidArgument("Shape mismatch: expected values rank ", values_.rank(), ", got ",
                             values.rank());
    }
    return CheckRows(values.shape(), values_.shape());
  }

  Status CheckShape(const Tensor& shape) const {
    const PartialShape& declared = options().shape;
    if (shape.rank() != 1) {
      return InvalidArgument("the shape of a gradient should be a vector but has shape ",
                             shape.shape().ToString());
    }
    if (!declared.has_rank()) return absl::OkStatus();
    if (shape.num_elements() < declared.rank()) {
      return InvalidArgument("Shape mismatch: expected shape rank at least ", declared.rank(),
                             ", got ", shape.num_elements());
    }
    for (int i = 0; i < declared.rank(); ++i) {
      const int64_t size = shape.data<int64_t>()[i];
      if (declared.dim(i) >= 0 && size != declared.dim(i)) {
        return InvalidArgument("Shape mismatch: expected shape dim ", i, " to be ", declared.dim(i),
                               ", got ", size);
      }
    }
    return absl::OkStatus();
  }

  // Whether rows of `values` are rows of a tensor whose first dimensions are `whole`.
  static Status CheckRows(const Shape& values, const PartialShape& whole) {
    for (int i = 1; i < whole.rank(); ++i) {
      if (whole.dim(i) >= 0 && whole.dim(i) != values.dim(i)) {
        return InvalidArgument("Shape mismatch: expected values dim ", i, " to be ", whole.dim(i),
                               ", got ", values.dim(i));
      }
    }
    return absl::OkStatus();
  }

  Status Add(AccumulatedGradient gradient, int64_t count, Allocator* allocator) override {
    const auto rows = static_cast<size_t>(gradient.indices.num_elements());
    if (count == 0) {
      CARILLON_RETURN_IF_ERROR(ReserveRows(rows));
      const auto indices = gradient.indices.values<int64_t>();
      indices_.assign(indices.begin(), indices.end());
      pushes_.assign(rows, 1);
      values_ = std::move(gradient.values);
      return absl::OkStatus();
    }
    CARILLON_RETURN_IF_ERROR(ReserveOnAccount(plan_, indices_.size() + rows, charge_));
    PlanMerge(gradient.indices.values<int64_t>());
    CARILLON_RETURN_IF_ERROR(ReserveRows(plan_.size()));
    CARILLON_RETURN_IF_ERROR(Reserve(static_cast<int64_t>(plan_.size()), allocator));
    Merge(gradient);
    return absl::OkStatus();
  }

  Status ReserveRows(size_t rows) {
    CARILLON_RETURN_IF_ERROR(ReserveOnAccount(indices_, rows, charge_));
    return ReserveOnAccount(pushes_, rows, charge_);
  }

  void PlanMerge(std::span<const int64_t> added) {
    plan_.clear();
    size_t i = 0, j = 0;
    while (i < indices_.size() || j < added.size()) {
      const bool from_sum = j == added.size() || (i < indices_.size() && indices_[i] <= added[j]);
      const bool from_gradient =
          i == indices_.size() || (j < added.size() && added[j] <= indices_[i]);
      plan_.push_back(
          {from_sum ? static_cast<int64_t>(i) : -1, from_gradient ? static_cast<int64_t>(j) : -1});
      i += from_sum;
      j += from_gradient;
    }
  }

  // Makes values_ writable memory for `rows` rows, of which the first are the sum.
  Status Reserve(int64_t rows, Allocator* allocator) {
    if (rows <= values_.dim(0) && values_.IsUnshared()) return absl::OkStatus();
    const auto used = static_cast<int64_t>(indices_.size());
    // Room for what comes next: other workers touch other rows.
    std::vector<int64_t> dims(values_.shape().dims().begin(), values_.shape().dims().end());
    dims[0] = rows == used ? rows : rows + rows / 2;
    Shape shape;
    Tensor larger;
    if (Shape::TryMake(dims, &shape))
      larger = Tensor::TryAllocate(values_.dtype(), shape, allocator);
    if (!larger.has_value()) {
      return ResourceExhausted("no memory for ", dims[0], " rows of accumulator ", options().name);
    }
    if (used > 0)
      std::memcpy(larger.mutable_raw_data(), values_.raw_data(), RowBytes() * Size(used));
    values_ = std::move(larger);
    return absl::OkStatus();
  }

  // From the last row to the first: a row only ever moves towards the end.
  void Merge(const AccumulatedGradient& gradient) {
    const size_t bytes = RowBytes();
    const int64_t elements = static_cast<int64_t>(bytes / DTypeSize(values_.dtype()));
    auto* sum = static_cast<char*>(values_.mutable_raw_data());
    const auto* added = static_cast<const char*>(gradient.values.raw_data());
    const int64_t* added_indices = gradient.indices.data<int64_t>();
    indices_.resize(plan_.size());
    pushes_.resize(plan_.size());
    for (size_t k = plan_.size(); k-- > 0;) {
      const Source& from = plan_[k];
      char* row = sum + k * bytes;
      if (from.sum >= 0) {
        if (Size(from.sum) != k) {
          std::memcpy(row, sum + Size(from.sum) * bytes, bytes);
          indices_[k] = indices_[Size(from.sum)];
          pushes_[k] = pushes_[Size(from.sum)];
        }
        if (from.gradient < 0) continue;
        AddRow(values_.dtype(), row, added + Size(from.gradient) * bytes, elements);
        ++pushes_[k];
      } else {
        std::memcpy(row, added + Size(from.gradient) * bytes, bytes);
        indices_[k] = added_indices[from.gradient];
        pushes_[k] = 1;
      }
    }
  }

  StatusOr<AccumulatedGradient> Release(int64_t, Allocator* allocator) override {
    const auto rows = static_cast<int64_t>(indices_.size());
    const size_t bytes = RowBytes();
    const Tensor sum = values_.Slice(0, rows);
    AccumulatedGradient taken{.values = Tensor::TryAllocate(sum.dtype(), sum.shape(), allocator),
                              .indices = Tensor::TryAllocate(DType::kInt64, Shape{rows}, allocator),
                              .shape = WholeShape()};
    if (!taken.values.has_value() || !taken.indices.has_value()) {
      return ResourceExhausted("no memory for ", rows, " rows of accumulator ", options().name);
    }
    if (rows > 0) {
      std::memcpy(taken.indices.mutable_raw_data(), indices_.data(), Size(rows) * sizeof(int64_t));
    }
    const int64_t elements = static_cast<int64_t>(bytes / DTypeSize(sum.dtype()));
    for (int64_t i = 0; i < rows; ++i) {
      const char* from = static_cast<const char*>(sum.raw_data()) + Size(i) * bytes;
      char* to = static_cast<char*>(taken.values.mutable_raw_data()) + Size(i) * bytes;
      DivideRow(sum.dtype(), from, to, elements, options().mean ? pushes_[Size(i)] : 1);
    }
    values_ = Tensor();
    indices_.clear();
    pushes_.clear();
    return taken;
  }

  // The size of the first dimension is only known where it was declared.
  Tensor WholeShape() const {
    std::vector<int64_t> dims(values_.shape().dims().begin(), values_.shape().dims().end());
    dims[0] = options().shape.rank() > 0 ? options().shape.dim(0) : -1;
    return Tensor::FromVector(dims);
  }

  size_t RowBytes() const {
    size_t bytes = DTypeSize(values_.dtype());
    for (int i = 1; i < values_.rank(); ++i) bytes *= Size(values_.dim(i));
    return bytes;
  }
  static size_t Size(int64_t i) { return static_cast<size_t>(i); }

  Tensor values_;                 // the rows of the sum, and perhaps room for more after them
  MemoryCharge charge_;           // of what the vectors have room for
  std::vector<int64_t> indices_;  // one a row of the sum
  std::vector<int64_t> pushes_;   // how many gradients have touched each
  std::vector<Source> plan_;      // kept for its memory
};

}  // namespace

std::shared_ptr<Accumulator> MakeSparseAccumulator(AccumulatorOptions options,
                                                   Allocator* allocator) {
  return std::make_shared<SparseAccumulator>(std::move(options), allocator);
}

}  // namespace carillon
