// What the kernels of the array family share. Each file of the family has one function here that
// adds its kernels.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "kernels/kernel.h"

namespace carillon {

void AddArrayValueKernels(KernelTable& table);     // constants, placeholders, identities, checks
void AddArrayShapeKernels(KernelTable& table);     // shapes and reshapes
void AddArrayFillKernels(KernelTable& table);      // fills, ranges, one-hot
void AddArrayConcatKernels(KernelTable& table);    // concat, split, pack, unpack
void AddArraySliceKernels(KernelTable& table);     // slices, strided slices and their assignments
void AddArrayPermuteKernels(KernelTable& table);   // transposes, reversals, rolls
void AddArrayRepeatKernels(KernelTable& table);    // tiles and broadcasts
void AddArrayPadKernels(KernelTable& table);       // pads, mirrors
void AddArrayGatherKernels(KernelTable& table);    // gathers
void AddArrayScatterKernels(KernelTable& table);   // scatters into new tensors
void AddArraySelectKernels(KernelTable& table);    // where, select
void AddArrayUniqueKernels(KernelTable& table);    // unique, list differences
void AddArrayDynamicKernels(KernelTable& table);   // dynamic partition and stitch
void AddArrayCastKernels(KernelTable& table);      // cast, bitcast
void AddArrayDiagonalKernels(KernelTable& table);  // diagonals, and what lies beside them
void AddArrayBandKernels(KernelTable& table);      // several diagonals at once
void AddArraySpaceKernels(KernelTable& table);     // space to batch, to depth, and back
void AddArraySetKernels(KernelTable& table);       // set operations, binary search

using Ints = absl::InlinedVector<int64_t, kMaxRank>;

// The elements of an integer tensor. The caller has checked that there are few.
Ints ReadInts(const Tensor& tensor);
// A vector of `size` integers. Errors call it `what`.
StatusOr<Ints> ReadVector(const Tensor& tensor, int64_t size, std::string_view what);
// The one element of a tensor of whatever rank.
StatusOr<int64_t> ReadOneInt(const Tensor& tensor, std::string_view what);
// The one element of a scalar.
StatusOr<int64_t> ReadScalarInt(const Tensor& tensor, std::string_view what);
// A shape given as a vector of sizes (or, when `scalar_ok`, as one size).
StatusOr<Shape> ReadShape(const Tensor& sizes, std::string_view what, bool scalar_ok = false);
// InvalidArgument when a dimension is negative, there are too many, or their product overflows.
StatusOr<Shape> MakeShape(std::span<const int64_t> dims);

// The error of an index of the tensor called `what` that is not in [0, limit); `position` counts
// its elements.
Status IndexError(std::string_view what, const Shape& shape, int64_t position, int64_t value,
                  int64_t limit);

// For the tables: a kernel that is one function and whose output 0 is the memory of input 0.
template <KernelFn fn>
KernelResult FromAlias(const KernelRequest&) {
  KernelTraits traits;
  traits.aliases.push_back({0, 0});
  return MakeFunctionKernel(fn, std::move(traits));
}

// Output 0 is input 0.
Status RunIdentity(KernelContext& context);

}  // namespace carillon
