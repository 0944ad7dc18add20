#include "kernels/ref/broadcast.h"

#include <algorithm>

namespace carillon {

StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 0; i < rank; ++i) {
    const int ai = i - (rank - a.rank());
    const int bi = i - (rank - b.rank());
    const int64_t x = ai < 0 ? 1 : a.dim(ai);
    const int64_t y = bi < 0 ? 1 : b.dim(bi);
    if (x != y && x != 1 && y != 1)
      return InvalidArgument("Incompatible shapes: ", a.ToString(), " vs. ", b.ToString());
    dims[static_cast<size_t>(i)] = x == 1 ? y : x;
  }
  Shape shape;
  if (!Shape::TryMake({dims.data(), static_cast<size_t>(rank)}, &shape)) {
    return InvalidArgument("shapes ", a.ToString(), " and ", b.ToString(),
                           " have too many elements together");
  }
  return shape;
}

StatusOr<Broadcast> Broadcast::Make(std::initializer_list<const Shape*> operands) {
  Broadcast b;
  for (const Shape* operand : operands) {
    CARILLON_ASSIGN_OR_RETURN(b.shape, BroadcastShape(b.shape, *operand));
  }
  if (b.shape.num_elements() == 0) return b;  // one dimension of zero: nothing to walk
  // Strides of each operand over the output's dimensions, collapsed from the last one on.
  std::array<int64_t, kMaxBroadcastOperands> next{};  // elements behind the dimensions seen so far
  next.fill(1);
  int rank = 0;  // dims[0] is the last dimension until the end
  for (int i = b.shape.rank() - 1; i >= 0; --i) {
    const int64_t size = b.shape.dim(i);
    std::array<int64_t, kMaxBroadcastOperands> stride{};
    size_t operand = 0;
    for (const Shape* shape : operands) {
      const int own = i - (b.shape.rank() - shape->rank());
      if (own >= 0 && shape->dim(own) != 1) {
        stride[operand] = next[operand];
        next[operand] *= shape->dim(own);
      }
      ++operand;
    }
    if (size == 1) continue;
    bool continues = rank > 0;
    for (size_t o = 0; continues && o < operands.size(); ++o) {
      const auto last = static_cast<size_t>(rank - 1);
      continues = stride[o] == b.strides[o][last] * b.dims[last];
    }
    if (continues) {
      b.dims[static_cast<size_t>(rank - 1)] *= size;
      continue;
    }
    b.dims[static_cast<size_t>(rank)] = size;
    for (size_t o = 0; o < operands.size(); ++o)
      b.strides[o][static_cast<size_t>(rank)] = stride[o];
    ++rank;
  }
  if (rank == 0) {
    b.dims[rank++] = 1;
    for (auto& strides : b.strides) strides[0] = 1;
  }
  std::reverse(b.dims.begin(), b.dims.begin() + rank);
  for (auto& strides : b.strides) std::reverse(strides.begin(), strides.begin() + rank);
  b.rank = rank;
  return b;
}

void Broadcast::ForEachRun(int64_t begin, int64_t end, Run run) const {
  if (begin >= end) return;
  const auto last = static_cast<size_t>(rank - 1);
  std::array<int64_t, kMaxRank> index{};
  std::array<int64_t, kMaxBroadcastOperands> offsets{};
  int64_t rest = begin;
  for (size_t d = last + 1; d-- > 0;) {
    index[d] = rest % dims[d];
    rest /= dims[d];
    for (size_t o = 0; o < offsets.size(); ++o) offsets[o] += index[d] * strides[o][d];
  }
  for (int64_t at = begin; at < end;) {
    const int64_t n = std::min(dims[last] - index[last], end - at);
    run(offsets, at, n);
    at += n;
    if (at >= end) return;
    // The run ended with the last dimension: go back to its start and one on in those before.
    for (size_t o = 0; o < offsets.size(); ++o) offsets[o] -= index[last] * strides[o][last];
    index[last] = 0;
    for (size_t d = last; d-- > 0;) {
      for (size_t o = 0; o < offsets.size(); ++o) offsets[o] += strides[o][d];
      if (++index[d] < dims[d]) break;
      for (size_t o = 0; o < offsets.size(); ++o) offsets[o] -= dims[d] * strides[o][d];
      index[d] = 0;
    }
  }
}

}  // namespace carillon
