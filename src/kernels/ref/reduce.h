// Reductions over some dimensions: the walk over memory, which knows nothing of types, and the
// typed pieces that it calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"
#include "kernels/context.h"

namespace carillon {

// Outputs that are reduced together, at most: their accumulators live on the stack.
inline constexpr int64_t kReduceBatch = 256;
inline constexpr size_t kMaxAccumulatorBytes = 8;

// One way to reduce elements of one type. Strides count elements.
struct Reducer {
  size_t in_size = 0;
  size_t accumulator_size = 0;
  size_t out_size = 0;
  // n accumulators that have seen nothing.
  void (*start)(void* accumulators, int64_t n) = nullptr;
  // accumulators[u] takes in the `length` consecutive elements from u * stride on.
  void (*rows)(const void* in, int64_t stride, int64_t length, void* accumulators,
               int64_t n) = nullptr;
  // accumulators[j] takes in the elements j, j + stride, …, j + (length - 1) * stride.
  void (*columns)(const void* in, int64_t stride, int64_t length, void* accumulators,
                  int64_t n) = nullptr;
  // accumulators[i] takes in what others[i] has seen.
  void (*merge)(const void* others, void* accumulators, int64_t n) = nullptr;
  // The results; each accumulator has seen `count` elements.
  void (*finish)(const void* accumulators, int64_t count, void* out, int64_t n) = nullptr;
};

// Which dimensions go, in as few as describe it: kept and reduced ones take turns, sizes of one are
// left out.
struct ReducePlan {
  Shape output;
  int64_t count = 1;  // elements that make one output element
  int rank = 0;
  std::array<int64_t, kMaxRank> dims{};
  std::array<int64_t, kMaxRank> strides{};
  std::array<bool, kMaxRank> reduced{};
};

// `axes` holds int32 or int64 in any shape. InvalidArgument when an axis is out of range or comes
// twice.
StatusOr<ReducePlan> MakeReducePlan(const Shape& input, const Tensor& axes, bool keep_dims);

// Reduces `in` into `out`, which has plan.output.num_elements() elements. The context lends memory
// when a large reduction has few results and several threads share the work.
Status Reduce(const ReducePlan& plan, const Reducer& reducer, const void* in, void* out,
              KernelContext& context);

}  // namespace carillon
