// Gradients of ops that reshape, repeat, pad and reorder.
#include <algorithm>

#include "base/strings.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/gradients/array.h"
#include "graph/gradients/broadcast.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

void ReshapeGradient(GradContext& c) { c.set(0, Reshape(c.grad(), ShapeOf(c.input(0)))); }

// The inverse of a constant permutation, whose entries may count from the end, is a constant.
Output InversePermutation(const Output& perm) {
  const Node* node = perm.node();
  if (node->op() != "Const") return InvertPermutation(perm);
  const Tensor& value = node->attr<Tensor>("value");
  std::vector<int32_t> inverse(static_cast<size_t>(value.num_elements()));
  for (int32_t i = 0; i < static_cast<int32_t>(inverse.size()); ++i) {
    const int64_t entry =
        value.dtype() == kInt64 ? value.data<int64_t>()[i] : value.data<int32_t>()[i];
    inverse[static_cast<size_t>(entry < 0 ? entry + value.num_elements() : entry)] = i;
  }
  return Const(perm.graph(), Tensor::FromVector(inverse));
}

void TransposeGradient(GradContext& c) {
  c.set(0, Transpose(c.grad(), InversePermutation(c.input(1))));
}

// Each dimension of what arrives is seen as [multiple, size]; the copies add up.
void TileByInterleaving(GradContext& c, const Output& shape, const Output& multiples) {
  const Output split = Reshape(Pack({multiples, shape}, 1), {-1});
  const Output copies = Range(c.graph(), 0, Size(split), 2);
  c.set(0, Reshape(Sum(Reshape(c.grad(), split), copies), shape));
}

// For ranks at which the dimensions would become too many: one dimension after the other, outermost
// first, as [sizes before, multiple, the rest].
void TileByDimension(GradContext& c, const Output& shape, const Output& multiples, int rank) {
  const Output tiled = shape * multiples;
  const auto product = [](const Output& sizes, int begin, int end) {
    return Prod(Slice(sizes, {begin}, {end - begin}), 0);
  };
  Output grad = c.grad();
  for (int i = 0; i < rank; ++i) {
    const Output before = product(shape, 0, i);
    const Output copies = product(multiples, i, i + 1);
    const Output rest = product(shape, i, i + 1) * product(tiled, i + 1, rank);
    grad = Sum(Reshape(grad, Pack({before, copies, rest})), {1});
  }
  c.set(0, Reshape(grad, shape));
}

void TileGradient(GradContext& c) {
  const Output shape = ShapeOf(c.input(0));
  const Output multiples = c.input(1).dtype() == kInt32 ? c.input(1) : Cast(c.input(1), kInt32);
  // multiples have one element for each dimension.
  int64_t rank = c.input(0).shape().rank();
  if (rank < 0 && multiples.shape().rank() == 1) rank = multiples.shape().dim(0);
  if (2 * rank <= kMaxRank) {
    TileByInterleaving(c, shape, multiples);
  } else {
    TileByDimension(c, shape, multiples, static_cast<int>(rank));
  }
}

void BroadcastToGradient(GradContext& c) { c.set(0, SumToShapeOf(c.grad(), c.input(0))); }

void PadGradient(GradContext& c) {
  const Output paddings = c.input(1);
  const Output sizes = ShapeOf(c.input(0), paddings.dtype());
  const Output before = StridedSlice(paddings, {0, 0}, {0, 1}, {1, 1},
                                     {.begin_mask = 1, .end_mask = 1, .shrink_axis_mask = 2});
  c.set(0, Slice(c.grad(), before, sizes));
}

std::string ModeOf(const GradContext& c) { return c.op().node()->attr<std::string>("mode"); }
void MirrorPadGradient(GradContext& c) { c.set(0, MirrorPadGrad(c.grad(), c.input(1), ModeOf(c))); }
void MirrorPadGradGradient(GradContext& c) { c.set(0, MirrorPad(c.grad(), c.input(1), ModeOf(c))); }

void ReverseGradient(GradContext& c) { c.set(0, Reverse(c.grad(), c.input(1))); }

void ReverseSequenceGradient(GradContext& c) {
  const Node* node = c.op().node();
  c.set(0, ReverseSequence(c.grad(), c.input(1), static_cast<int>(node->attr<int64_t>("seq_dim")),
                           static_cast<int>(node->attr<int64_t>("batch_dim"))));
}

void RollGradient(GradContext& c) { c.set(0, Roll(c.grad(), Neg(c.input(1)), c.input(2))); }

void DiagGradient(GradContext& c) { c.set(0, DiagPart(c.grad())); }
void DiagPartGradient(GradContext& c) { c.set(0, Diag(c.grad())); }
void MatrixDiagGradient(GradContext& c) { c.set(0, MatrixDiagPart(c.grad())); }
void MatrixDiagPartGradient(GradContext& c) {
  c.set(0, MatrixSetDiag(FillLike(c.input(0), 0.0), c.grad()));
}
void MatrixSetDiagGradient(GradContext& c) {
  c.set(0, MatrixSetDiag(c.grad(), FillLike(c.input(1), 0.0)));
  c.set(1, MatrixDiagPart(c.grad()));
}
// Bands. V2 stands to the left on both sides.
std::string AlignmentOf(const GradContext& c) {
  const AttrValue* align = c.op().node()->FindAttr("align");
  return align == nullptr ? "LEFT_LEFT" : *align->get_if<std::string>();
}
void MatrixDiagBandGradient(GradContext& c) {
  c.set(0, MatrixDiagPartV3(c.grad(), c.input(1), 0, AlignmentOf(c)));
}
void MatrixDiagPartBandGradient(GradContext& c) {
  c.set(0, MatrixSetDiagV3(FillLike(c.input(0), 0.0), c.grad(), c.input(1), AlignmentOf(c)));
}
void MatrixSetDiagBandGradient(GradContext& c) {
  const Output k = c.input(2);
  c.set(0, MatrixSetDiagV3(c.grad(), FillLike(c.input(1), 0.0), k, AlignmentOf(c)));
  c.set(1, MatrixDiagPartV3(c.grad(), k, 0, AlignmentOf(c)));
}
void MatrixBandPartGradient(GradContext& c) {
  c.set(0, MatrixBandPart(c.grad(), c.input(1), c.input(2)));
}

int BlockSize(const GradContext& c) {
  return static_cast<int>(c.op().node()->attr<int64_t>("block_size"));
}
const std::string& DataFormat(const GradContext& c) {
  return c.op().node()->attr<std::string>("data_format");
}
void SpaceToBatchGradient(GradContext& c) {
  c.set(0, BatchToSpace(c.grad(), c.input(1), BlockSize(c)));
}
void BatchToSpaceGradient(GradContext& c) {
  c.set(0, SpaceToBatch(c.grad(), c.input(1), BlockSize(c)));
}
void SpaceToBatchNdGradient(GradContext& c) {
  c.set(0, BatchToSpaceND(c.grad(), c.input(1), c.input(2)));
}
void BatchToSpaceNdGradient(GradContext& c) {
  c.set(0, SpaceToBatchND(c.grad(), c.input(1), c.input(2)));
}
void SpaceToDepthGradient(GradContext& c) {
  c.set(0, DepthToSpace(c.grad(), BlockSize(c), DataFormat(c)));
}
void DepthToSpaceGradient(GradContext& c) {
  c.set(0, SpaceToDepth(c.grad(), BlockSize(c), DataFormat(c)));
}

}  // namespace

void AddArrayLayoutGradients(GradTable& grads) {
  for (const char* op : {"Reshape", "ExpandDims", "Squeeze"}) grads.Add(op, ReshapeGradient);
  grads.Add("Transpose", TransposeGradient);
  grads.Add("ConjugateTranspose", TransposeGradient);
  grads.Add("Tile", TileGradient);
  grads.Add("BroadcastTo", BroadcastToGradient);
  grads.Add("Pad", PadGradient);
  grads.Add("PadV2", PadGradient);
  grads.Add("MirrorPad", MirrorPadGradient);
  grads.Add("MirrorPadGrad", MirrorPadGradGradient);
  grads.Add("ReverseV2", ReverseGradient);
  grads.Add("ReverseSequence", ReverseSequenceGradient);
  grads.Add("Roll", RollGradient);
  grads.Add("Diag", DiagGradient);
  grads.Add("DiagPart", DiagPartGradient);
  grads.Add("MatrixDiag", MatrixDiagGradient);
  grads.Add("MatrixDiagPart", MatrixDiagPartGradient);
  grads.Add("MatrixSetDiag", MatrixSetDiagGradient);
  for (const char* version : {"V2", "V3"}) {
    grads.Add(StrCat("MatrixDiag", version), MatrixDiagBandGradient);
    grads.Add(StrCat("MatrixDiagPart", version), MatrixDiagPartBandGradient);
    grads.Add(StrCat("MatrixSetDiag", version), MatrixSetDiagBandGradient);
  }
  grads.Add("MatrixBandPart", MatrixBandPartGradient);
  grads.Add("SpaceToBatch", SpaceToBatchGradient);
  grads.Add("BatchToSpace", BatchToSpaceGradient);
  grads.Add("SpaceToBatchND", SpaceToBatchNdGradient);
  grads.Add("BatchToSpaceND", BatchToSpaceNdGradient);
  grads.Add("SpaceToDepth", SpaceToDepthGradient);
  grads.Add("DepthToSpace", DepthToSpaceGradient);
}

}  // namespace carillon
