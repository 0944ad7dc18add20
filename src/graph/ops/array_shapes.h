// Shape functions of the array ops. What an op's kernel checks at the step is checked here too as
// far as the inputs are known.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "graph/shape_context.h"

namespace carillon {

// In array_shapes.cc: values, reshapes, fills, joins.
Status ShapeConst(ShapeContext& c);
Status ShapeOfAttr(ShapeContext& c);  // the attribute `shape`
Status ShapePlaceholderWithDefault(ShapeContext& c);
Status ShapeOfEachInput(ShapeContext& c);
Status ShapeEnsure(ShapeContext& c);
Status ShapeShape(ShapeContext& c);
Status ShapeReshape(ShapeContext& c);
Status ShapeExpandDims(ShapeContext& c);
Status ShapeSqueeze(ShapeContext& c);
Status ShapeTranspose(ShapeContext& c);
Status ShapeConcat(ShapeContext& c);
Status ShapeConcatV2(ShapeContext& c);
Status ShapeConcatOffset(ShapeContext& c);
Status ShapeSplit(ShapeContext& c);
Status ShapeSplitV(ShapeContext& c);
Status ShapePack(ShapeContext& c);
Status ShapeUnpack(ShapeContext& c);
Status ShapeFill(ShapeContext& c);
Status ShapeEmpty(ShapeContext& c);
Status ShapeRange(ShapeContext& c);
Status ShapeLinSpace(ShapeContext& c);
Status ShapeOneHot(ShapeContext& c);
Status ShapeBitcast(ShapeContext& c);

// In array_index_shapes.cc: parts of tensors, by position or by index.
Status ShapeSlice(ShapeContext& c);
Status ShapeStridedSlice(ShapeContext& c);
Status ShapeStridedSliceGrad(ShapeContext& c);
Status ShapeGather(ShapeContext& c);
Status ShapeGatherV2(ShapeContext& c);
Status ShapeGatherNd(ShapeContext& c);
Status ShapeScatterNd(ShapeContext& c);
Status ShapeTensorScatter(ShapeContext& c);
Status ShapeSparseToDense(ShapeContext& c);
Status ShapeWhere(ShapeContext& c);
Status ShapeSelect(ShapeContext& c);
Status ShapeSelectV2(ShapeContext& c);
Status ShapeReverse(ShapeContext& c);
Status ShapeReverseSequence(ShapeContext& c);
Status ShapeRoll(ShapeContext& c);
Status ShapeInvertPermutation(ShapeContext& c);
Status ShapeListDiff(ShapeContext& c);
Status ShapeUnique(ShapeContext& c);
Status ShapeDynamicPartition(ShapeContext& c);
Status ShapeDynamicStitch(ShapeContext& c);
Status ShapeDenseSets(ShapeContext& c);
Status ShapeBound(ShapeContext& c);

// In array_size_shapes.cc: tensors that grow or shrink, and their matrices.
Status ShapeTile(ShapeContext& c);
Status ShapePad(ShapeContext& c);
Status ShapePadV2(ShapeContext& c);
Status ShapeMirrorPadGrad(ShapeContext& c);
Status ShapeBroadcastTo(ShapeContext& c);
Status ShapeBroadcastArgs(ShapeContext& c);
Status ShapeBroadcastGradientArgs(ShapeContext& c);
Status ShapeDiag(ShapeContext& c);
Status ShapeDiagPart(ShapeContext& c);
Status ShapeMatrixBandPart(ShapeContext& c);
Status ShapeMatrixDiag(ShapeContext& c);
Status ShapeMatrixDiagPart(ShapeContext& c);
Status ShapeMatrixSetDiag(ShapeContext& c);
Status ShapeMatrixDiagV2(ShapeContext& c);
Status ShapeMatrixDiagPartV2(ShapeContext& c);
Status ShapeMatrixSetDiagV2(ShapeContext& c);
Status ShapeSpaceToBatch(ShapeContext& c);
Status ShapeBatchToSpace(ShapeContext& c);
Status ShapeSpaceToBatchNd(ShapeContext& c);
Status ShapeBatchToSpaceNd(ShapeContext& c);
Status ShapeSpaceToDepth(ShapeContext& c);
Status ShapeDepthToSpace(ShapeContext& c);

// Shared by these files.

using Dims = absl::InlinedVector<int64_t, kMaxRank>;

// The elements of integer input i as far as they are known: kUnknownIndex (array_rules.h) stands
// for those that are not. nullopt when not even their number is known, or when there are very many.
std::optional<Dims> InputInts(const ShapeContext& c, int i);
// The one element of input i, which may have any rank; nullopt when it is not known.
std::optional<int64_t> InputInt(const ShapeContext& c, int i);
// InvalidArgument when there are too many dimensions or one is less than -1.
StatusOr<PartialShape> MakePartialShape(std::span<const int64_t> dims);
// Output 0 with these dimensions.
Status SetDims(ShapeContext& c, std::span<const int64_t> dims);
// Input i, read as a vector of sizes, is the shape. Sizes must not be negative where they are
// known; `what` names the input.
StatusOr<PartialShape> SizesFromInput(const ShapeContext& c, int i, std::string_view what,
                                      bool scalar_ok = false);
// a + b, a * b and a / b of sizes, of which either may be unknown (-1). InvalidArgument for a
// result that is no size: an overflow, a division with a remainder.
StatusOr<int64_t> AddSizes(int64_t a, int64_t b);
StatusOr<int64_t> MultiplySizes(int64_t a, int64_t b);
StatusOr<int64_t> DivideSizes(int64_t a, int64_t b);

}  // namespace carillon
