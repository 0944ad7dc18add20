// Moving elements between strided views: what Transpose, Concat, Slice, Tile, Pad and their kin
// come down to.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "base/parallel.h"
#include "carillon/dtype.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"

namespace carillon {

// One dimension of a box of elements, and how far apart its neighbours lie on both sides, counted
// in elements. Strides may be negative (a reversal) or, on the source side, 0 (a repetition).
struct CopyDim {
  int64_t size;
  int64_t from;
  int64_t to;
};

// Outermost first; fastest when that is the order of the destination's memory. A tile needs two
// dimensions for each of the tensor's.
using CopyDims = absl::InlinedVector<CopyDim, 2 * kMaxRank>;

// Copies the box. The two sides must not overlap. Large copies of plain data run in parallel.
void CopyStrided(DType dtype, const void* from, void* to, CopyDims dims);

// Copies `count` neighbouring elements.
void CopyElements(DType dtype, const void* from, void* to, int64_t count);

// Sets `count` elements to the one at `value`, or to zero (strings: empty).
void FillElements(DType dtype, void* to, int64_t count, const void* value);
void ZeroElements(DType dtype, void* to, int64_t count);

// `data` moved on by `elements` elements.
inline const char* At(const void* data, DType dtype, int64_t elements) {
  return static_cast<const char*>(data) + elements * static_cast<int64_t>(DTypeSize(dtype));
}
inline char* At(void* data, DType dtype, int64_t elements) {
  return static_cast<char*>(data) + elements * static_cast<int64_t>(DTypeSize(dtype));
}
inline const char* At(const Tensor& tensor, int64_t elements) {
  return At(tensor.raw_data(), tensor.dtype(), elements);
}
inline char* At(Tensor& tensor, int64_t elements) {
  return At(tensor.mutable_raw_data(), tensor.dtype(), elements);
}

// The dimensions of an empty tensor may multiply to more than 64 bits hold: for these the functions
// below wrap around, and kernels return before they use them.

// How many elements lie between neighbours along each dimension of a row-major tensor.
using Strides = absl::InlinedVector<int64_t, kMaxRank>;
Strides RowMajorStrides(std::span<const int64_t> dims);
inline Strides RowMajorStrides(const Shape& shape) { return RowMajorStrides(shape.dims()); }

// Products of the dimensions before, and from, `axis` on.
int64_t ElementsBefore(const Shape& shape, int axis);
int64_t ElementsFrom(const Shape& shape, int axis);

// Loops over plain data are cut into pieces of about this many bytes for threads.
inline constexpr int64_t kParallelBytes = 64 << 10;

// The grain for ParallelFor over items of `bytes` bytes each.
inline int64_t GrainFor(int64_t bytes) {
  return bytes >= kParallelBytes ? 1 : kParallelBytes / (bytes < 1 ? 1 : bytes);
}

// ParallelFor over items of `elements_each` elements, which `body` copies. On the calling thread
// alone where they are strings or objects: to copy these takes memory, which is counted there only,
// and may throw.
template <typename T>
void ForRanges(int64_t n, int64_t elements_each, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    ParallelFor(n, GrainFor(elements_each * static_cast<int64_t>(sizeof(T))), body);
  } else if (n > 0) {
    body(0, n);
  }
}

}  // namespace carillon
