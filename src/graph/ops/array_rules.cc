#include "graph/ops/array_rules.h"

#include <algorithm>

#include "graph/node_graph.h"

namespace carillon {
namespace {

// The masks are 32 bits wide in TensorFlow.
constexpr size_t kMaxSliceLength = 32;

// What element `i` of a slice specification means.
struct SpecElement {
  bool ellipsis;
  bool new_axis;
  bool shrink;
  bool open_begin;
  bool open_end;
};

SpecElement ReadElement(const StridedSliceMasks& masks, size_t i) {
  const int64_t bit = int64_t{1} << i;
  SpecElement element{};
  element.ellipsis = (masks.ellipsis & bit) != 0;
  element.new_axis = !element.ellipsis && (masks.new_axis & bit) != 0;
  element.shrink = !element.ellipsis && !element.new_axis && (masks.shrink_axis & bit) != 0;
  element.open_begin = (masks.begin & bit) != 0;
  element.open_end = (masks.end & bit) != 0;
  return element;
}

// A begin or end of a range, counted from the front and kept inside the dimension. Where it may
// lie depends on the direction in which the range runs.
int64_t ClampIndex(int64_t index, int64_t stride, int64_t size) {
  const int64_t least = stride > 0 ? 0 : -1;
  const int64_t most = stride > 0 ? size : size - 1;
  return std::clamp(index < 0 ? size + index : index, least, most);
}

StatusOr<SlicedDim> SliceIndex(int64_t index, int64_t stride, int64_t size, int dimension) {
  if (stride <= 0) {
    return InvalidArgument("an index into dimension ", dimension, " has stride ", stride,
                           "; only ranges may have another stride than 1");
  }
  SlicedDim dim{.begin = 0, .stride = 1, .size = 1};
  if (size < 0 || index == kUnknownIndex) return dim;
  dim.begin = index < 0 ? size + index : index;
  if (dim.begin < 0 || dim.begin >= size) {
    return InvalidArgument("slice index ", index, " of dimension ", dimension,
                           " is out of bounds: its size is ", size);
  }
  return dim;
}

SlicedDim SliceRange(const SpecElement& element, int64_t begin, int64_t end, int64_t stride,
                     int64_t size) {
  SlicedDim dim{.stride = stride};
  if (size < 0) return dim;
  if (!element.open_begin && begin == kUnknownIndex) return dim;
  if (!element.open_end && end == kUnknownIndex) return dim;
  const int64_t first =
      element.open_begin ? (stride > 0 ? 0 : size - 1) : ClampIndex(begin, stride, size);
  const int64_t last = element.open_end ? (stride > 0 ? size : -1) : ClampIndex(end, stride, size);
  const int64_t length = last - first;
  dim.begin = first;
  if (length == 0 || (length < 0) != (stride < 0)) {
    dim.size = 0;
  } else {
    dim.size = length / stride + (length % stride != 0 ? 1 : 0);
  }
  return dim;
}

}  // namespace

StatusOr<Shape> ResolveReshape(const Shape& input, std::span<const int64_t> wanted) {
  if (wanted.size() > kMaxRank) {
    return InvalidArgument("the new shape has ", wanted.size(),
                           " dimensions; tensors have at most ", kMaxRank);
  }
  absl::InlinedVector<int64_t, kMaxRank> dims(wanted.begin(), wanted.end());
  int open = -1;
  bool has_zero = false;
  int64_t known = 1;  // without zeros
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (open >= 0) {
        return InvalidArgument("only one size of the new shape may be -1, not both ", open, " and ",
                               i);
      }
      open = static_cast<int>(i);
    } else if (dims[i] < 0) {
      return InvalidArgument("size ", i, " of the new shape should not be negative but is ",
                             dims[i]);
    } else if (dims[i] == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(known, dims[i], &known)) {
      return InvalidArgument("the new shape has too many elements for any tensor");
    }
  }
  if (open >= 0) {
    int64_t elements = input.num_elements();
    bool ignores_zero = false;
    if (has_zero) {
      elements = 1;
      for (const int64_t size : input.dims()) {
        if (size == 0) {
          ignores_zero = true;
        } else if (__builtin_mul_overflow(elements, size, &elements)) {
          return InvalidArgument("the size that is -1 does not follow from shape ",
                                 input.ToString());
        }
      }
    }
    if (!ignores_zero && elements % known != 0) {
      return InvalidArgument("a tensor of ", input.num_elements(),
                             " elements cannot be reshaped: the new shape needs a multiple of ",
                             known);
    }
    dims[static_cast<size_t>(open)] = elements / known;
  }
  Shape shape;
  if (!Shape::TryMake(dims, &shape) || shape.num_elements() != input.num_elements()) {
    return InvalidArgument("a tensor of shape ", input.ToString(), " (", input.num_elements(),
                           " elements) cannot be reshaped to ", PartialShape(dims).ToString());
  }
  return shape;
}

StridedSliceMasks::StridedSliceMasks(const Node& node)
    : begin(node.attr<int64_t>("begin_mask")),
      end(node.attr<int64_t>("end_mask")),
      ellipsis(node.attr<int64_t>("ellipsis_mask")),
      new_axis(node.attr<int64_t>("new_axis_mask")),
      shrink_axis(node.attr<int64_t>("shrink_axis_mask")) {}

StatusOr<StridedSlicePlan> PlanStridedSlice(const PartialShape& input,
                                            std::span<const int64_t> begin,
                                            std::span<const int64_t> end,
                                            std::span<const int64_t> strides,
                                            const StridedSliceMasks& masks) {
  const size_t length = strides.size();
  if (begin.size() != length || end.size() != length) {
    return InvalidArgument("begin, end and strides should have one length but have ", begin.size(),
                           ", ", end.size(), " and ", length, " elements");
  }
  if (length > kMaxSliceLength) {
    return InvalidArgument("a slice has at most ", kMaxSliceLength, " indices, not ", length);
  }
  // How many dimensions of the input the elements take that come before and after the ellipsis.
  bool has_ellipsis = false;
  int taken = 0;
  for (size_t i = 0; i < length; ++i) {
    const SpecElement element = ReadElement(masks, i);
    if (element.ellipsis && has_ellipsis) {
      return InvalidArgument("a slice has at most one ellipsis, not two");
    }
    has_ellipsis |= element.ellipsis;
    if (!element.ellipsis && !element.new_axis) ++taken;
  }
  if (taken > input.rank()) {
    return InvalidArgument("a slice with ", taken, " indices does not fit an input of ",
                           input.rank(), " dimensions");
  }
  StridedSlicePlan plan;
  absl::InlinedVector<int64_t, kMaxRank> result;
  const auto keep_whole = [&](int count) {
    for (; count > 0; --count) {
      const int64_t size = input.dim(static_cast<int>(plan.dims.size()));
      plan.dims.push_back({.size = size, .result_dim = static_cast<int>(result.size())});
      result.push_back(size);
    }
  };
  for (size_t i = 0; i < length; ++i) {
    const SpecElement element = ReadElement(masks, i);
    if (element.ellipsis) {
      keep_whole(input.rank() - taken);
      continue;
    }
    if (element.new_axis) {
      result.push_back(1);
      continue;
    }
    if (strides[i] == 0) return InvalidArgument("strides[", i, "] should not be 0");
    const int dimension = static_cast<int>(plan.dims.size());
    const int64_t size = input.dim(dimension);
    if (element.shrink) {
      CARILLON_ASSIGN_OR_RETURN(const SlicedDim dim,
                                SliceIndex(begin[i], strides[i], size, dimension));
      plan.dims.push_back(dim);
    } else {
      plan.dims.push_back(SliceRange(element, begin[i], end[i], strides[i], size));
      plan.dims.back().result_dim = static_cast<int>(result.size());
      result.push_back(plan.dims.back().size);
    }
  }
  keep_whole(input.rank() - static_cast<int>(plan.dims.size()));
  if (!PartialShape::TryMake(result, &plan.result)) {
    return InvalidArgument("the slice would have ", result.size(),
                           " dimensions; tensors have at most ", kMaxRank);
  }
  return plan;
}

int64_t DiagonalBand::Length(int64_t d, int64_t rows, int64_t columns) {
  return std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
}

int64_t DiagonalBand::Longest(int64_t rows, int64_t columns) const {
  return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
}

Status DiagonalBand::CheckInside(int64_t rows, int64_t columns) const {
  for (const int64_t d : {lower, upper}) {
    if (d != 0 && (d <= -rows || d >= columns)) {
      return InvalidArgument("diagonal ", d, " is outside of a matrix of ", rows, " rows and ",
                             columns, " columns");
    }
  }
  return absl::OkStatus();
}

StatusOr<DiagonalBand> MakeBand(std::span<const int64_t> k) {
  if (k.empty() || k.size() > 2) {
    return InvalidArgument("k should be one diagonal or two but has ", k.size(), " elements");
  }
  if (k.front() > k.back()) {
    return InvalidArgument("the lower diagonal, ", k.front(), ", lies above the upper one, ",
                           k.back());
  }
  return DiagonalBand{k.front(), k.back()};
}

StatusOr<MatrixSizes> SizesAroundBand(const DiagonalBand& band, int64_t longest, int64_t rows,
                                      int64_t columns) {
  const int64_t least_rows = longest - std::min<int64_t>(band.upper, 0);
  const int64_t least_columns = longest + std::max<int64_t>(band.lower, 0);
  if (rows == -1 && columns == -1) {
    rows = columns = std::max(least_rows, least_columns);
  }
  if (rows == -1) rows = least_rows;
  if (columns == -1) columns = least_columns;
  if (rows < least_rows || columns < least_columns ||
      (rows != least_rows && columns != least_columns)) {
    return InvalidArgument("a matrix of ", rows, " rows and ", columns,
                           " columns has no diagonals ", band.lower, " to ", band.upper,
                           " the longest of which has ", longest, " elements");
  }
  return MatrixSizes{rows, columns};
}

}  // namespace carillon
