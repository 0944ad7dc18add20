// Indices of several dimensions at once, as GatherNd, ScatterNd and SparseToDense have them: each
// row of the indices picks a slice of a tensor by its first `depth` dimensions.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "kernels/kernel.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {

class NdIndexer {
 public:
  // depth <= shape.rank(), and the shape has elements.
  NdIndexer(const Shape& shape, int depth)
      : shape_(shape), depth_(depth), strides_(RowMajorStrides(shape)) {
    slice_ = ElementsFrom(shape, depth);
  }

  int depth() const { return depth_; }
  int64_t slice() const { return slice_; }  // elements of one slice

  // The first element of the slice; -1 when the index is out of range.
  template <typename Index>
  int64_t Offset(const Index* index) const {
    int64_t offset = 0;
    bool inside = true;
    for (int k = 0; k < depth_; ++k) {
      const int64_t value = static_cast<int64_t>(index[k]);
      inside &= value >= 0 && value < shape_.dim(k);
      offset += inside ? value * strides_[static_cast<size_t>(k)] : 0;
    }
    return inside ? offset : -1;
  }

  // The error of row `row` of `indices`, which is out of range of the tensor called `what`.
  Status Error(const Tensor& indices, int64_t row, std::string_view what) const {
    std::string index;
    const Ints all = ReadInts(indices);
    for (int k = 0; k < depth_; ++k) {
      StrAppend(&index, k == 0 ? "" : ", ", all[static_cast<size_t>(row * depth_ + k)]);
    }
    return InvalidArgument("indices row ", row, " = [", index, "] is out of range of ", what,
                           " of shape ", shape_.ToString());
  }

 private:
  const Shape shape_;
  const int depth_;
  const Strides strides_;
  int64_t slice_ = 1;
};

// The attribute bad_indices_policy: whether rows that are out of range are skipped rather than an
// error.
StatusOr<bool> IgnoresBadIndices(const KernelRequest& request);

}  // namespace carillon
