// Rules that the shape functions and the kernels of the array ops follow alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "base/status.h"
#include "carillon/shape.h"

namespace carillon {

class Node;

// The shape that a tensor of shape `input` gets by Reshape to `wanted`, in which one size may be
// -1. In an empty tensor the size that is -1 follows from the sizes that are not 0, as TensorFlow
// has it.
StatusOr<Shape> ResolveReshape(const Shape& input, std::span<const int64_t> wanted);

// How many steps of `delta` lead from `start` to `limit`: the size of a Range. Each operation of
// the floating types rounds to the type, as in TensorFlow. InvalidArgument when there is no way.
template <typename T>
StatusOr<int64_t> RangeSize(T start, T limit, T delta) {
  if (delta == T(0)) return InvalidArgument("delta should not be 0");
  if (delta > T(0) ? !(start <= limit) : !(start >= limit)) {
    return InvalidArgument("delta ", +delta, " does not lead from start ", +start, " to limit ",
                           +limit);
  }
  if constexpr (std::is_integral_v<T>) {
    const bool up = delta > T(0);
    // Modular arithmetic gives the distance even where the subtraction overflows.
    const uint64_t distance = up ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = up ? static_cast<uint64_t>(delta) : 0 - static_cast<uint64_t>(delta);
    const uint64_t size = distance / step + (distance % step != 0 ? 1 : 0);
    if (size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return static_cast<int64_t>(size);
  } else {
    const T distance = static_cast<T>(limit - start);
    const T steps = static_cast<T>(distance / delta);
    const double size = std::ceil(std::fabs(static_cast<double>(steps)));
    if (size < 9.2e18) return static_cast<int64_t>(size);
  }
  return InvalidArgument("(limit - start) / delta does not fit 63 bits");
}

// The five mask attributes that StridedSlice and its kin share: bit i speaks of element i of begin,
// end and strides.
struct StridedSliceMasks {
  explicit StridedSliceMasks(const Node& node);
  StridedSliceMasks() = default;
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};

// Stands for an element of begin or end that is not known before the step runs.
inline constexpr int64_t kUnknownIndex = std::numeric_limits<int64_t>::min();

// What a strided slice takes of one dimension of its input.
struct SlicedDim {
  int64_t begin = 0;  // meaningful only when the size is known
  int64_t stride = 1;
  int64_t size = -1;    // how many elements are taken; -1: not known
  int result_dim = -1;  // the dimension of the result that it becomes; -1: none (an index)
};

struct StridedSlicePlan {
  absl::InlinedVector<SlicedDim, kMaxRank> dims;  // one for each dimension of the input
  PartialShape result;
};

// `input` must have a known rank; `begin`, `end` and `strides` are of one length. InvalidArgument
// as in TensorFlow: stride 0, an index out of bounds, more indices than dimensions, two ellipses.
StatusOr<StridedSlicePlan> PlanStridedSlice(const PartialShape& input,
                                            std::span<const int64_t> begin,
                                            std::span<const int64_t> end,
                                            std::span<const int64_t> strides,
                                            const StridedSliceMasks& masks);

// The diagonals `lower` to `upper` of matrices, as MatrixDiagV3 and its kin have them: 0 is the
// main diagonal, those above it are positive.
struct DiagonalBand {
  int64_t lower = 0;
  int64_t upper = 0;

  int64_t count() const { return upper - lower + 1; }
  // The number of elements of diagonal d, and of the longest one, of a matrix.
  static int64_t Length(int64_t d, int64_t rows, int64_t columns);
  int64_t Longest(int64_t rows, int64_t columns) const;
  // InvalidArgument when one of the diagonals lies outside the matrix.
  Status CheckInside(int64_t rows, int64_t columns) const;
};

// From the input k: one diagonal, or the lower and the upper one.
StatusOr<DiagonalBand> MakeBand(std::span<const int64_t> k);

// The sizes of a matrix that has this band with `longest` elements in its longest diagonal. `rows`
// and `columns` are -1 where they follow.
struct MatrixSizes {
  int64_t rows;
  int64_t columns;
};
StatusOr<MatrixSizes> SizesAroundBand(const DiagonalBand& band, int64_t longest, int64_t rows,
                                      int64_t columns);

}  // namespace carillon
