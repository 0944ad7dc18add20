// TensorSlice: a rectangular part of a tensor, as partitioned variables are saved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"

namespace tensorflow {
class TensorSliceProto;
}

namespace carillon {

class TensorSlice {
 public:
  static constexpr int64_t kAll = -1;
  struct Extent {
    int64_t start = 0;
    int64_t length = kAll;  // kAll: the whole dimension
    bool operator==(const Extent&) const = default;
  };

  TensorSlice() = default;
  static TensorSlice Whole(int rank) {
    return TensorSlice(std::vector<Extent>(static_cast<size_t>(rank)));
  }
  // "-:0,2:4,1": one part a dimension, "-" or "start,length".
  static StatusOr<TensorSlice> Parse(std::string_view text);
  static StatusOr<TensorSlice> FromProto(const tensorflow::TensorSliceProto& proto);
  void ToProto(tensorflow::TensorSliceProto* proto) const;
  std::string ToString() const;

  int rank() const { return static_cast<int>(extents_.size()); }
  bool IsWhole() const;
  // What is left of a tensor of shape `full`. Internal, as in TensorFlow, when the slice sticks
  // out.
  StatusOr<Shape> ShapeWithin(const Shape& full) const;
  // The same slice with every extent spelt out. Needs a slice that fits into `full`.
  TensorSlice Resolved(const Shape& full) const;
  // What two resolved slices have in common; false when that is nothing.
  bool Intersect(const TensorSlice& other, TensorSlice* common) const;

  const std::vector<Extent>& extents() const { return extents_; }
  bool operator==(const TensorSlice&) const = default;

 private:
  explicit TensorSlice(std::vector<Extent> extents) : extents_(std::move(extents)) {}
  std::vector<Extent> extents_;
};

// An element of the shape_and_slices of SaveV2 and RestoreV2: "6 4 0,3:-" is the first half of a
// tensor of shape [6,4].
struct ShapeAndSlice {
  Shape full_shape;
  TensorSlice slice;
  Shape slice_shape;
};
StatusOr<ShapeAndSlice> ParseShapeAndSlice(std::string_view text);

// The key under which an index keeps a slice of the tensor `name`.
std::string SliceKey(std::string_view name, const TensorSlice& slice);

// Copies the elements that lie in the resolved slice `common` from a tensor that holds `from_slice`
// to one that holds `to_slice`, both resolved and containing `common`.
void CopyCommonPart(const Tensor& from, const TensorSlice& from_slice, const TensorSlice& common,
                    const TensorSlice& to_slice, Tensor* to);

}  // namespace carillon
