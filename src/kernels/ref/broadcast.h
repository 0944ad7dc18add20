// Broadcasting: how the elements of up to three operands meet in one output.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "carillon/shape.h"

namespace carillon {

inline constexpr int kMaxBroadcastOperands = 3;

// The walk over the output, with as few dimensions as describe it: sizes of one are left out, and
// neighbours over which every operand walks evenly are one. Operands are row-major, so along the
// last dimension each either stands still (stride 0) or moves by one element (stride 1).
struct Broadcast {
  Shape shape;  // of the output
  int rank = 1;
  std::array<int64_t, kMaxRank> dims{};
  std::array<std::array<int64_t, kMaxRank>, kMaxBroadcastOperands> strides{};  // in elements

  // InvalidArgument when the shapes do not fit.
  static StatusOr<Broadcast> Make(std::initializer_list<const Shape*> operands);

  // True when operand i is read in the order of the output, as a whole.
  bool IsPlain(int i) const { return rank == 1 && strides[static_cast<size_t>(i)][0] == 1; }

  // Calls run(offsets, at, n) for stretches of the last dimension that cover the output elements
  // begin … end-1: n elements from output element `at` on; offsets[i] is where operand i starts.
  using Run = absl::FunctionRef<void(const std::array<int64_t, kMaxBroadcastOperands>& offsets,
                                     int64_t at, int64_t n)>;
  void ForEachRun(int64_t begin, int64_t end, Run run) const;
};

// The shape that a and b have together; InvalidArgument when they do not fit.
StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b);

}  // namespace carillon
