#include <algorithm>

#include "graph/ops/array_rules.h"
#include "graph/ops/array_shapes.h"

namespace carillon {
namespace {

Dims DimsOf(const PartialShape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

// Input i holds a pair of sizes for each of `count` dimensions (-1: not known how many); a pair of
// unknown sizes is {-1, -1}. nullopt when the number of pairs is not known either.
using Pairs = absl::InlinedVector<std::pair<int64_t, int64_t>, kMaxRank>;
StatusOr<std::optional<Pairs>> ReadPairs(const ShapeContext& c, int i, int64_t count,
                                         std::string_view what) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, c.WithRank(i, 2));
  const StatusOr<int64_t> number = MergeDim(shape.dim(0), count);
  if (!number.ok() || !MergeDim(shape.dim(1), 2).ok()) {
    return InvalidArgument(what, " should have shape [", count < 0 ? "?" : StrCat(count),
                           ",2] but have ", shape.ToString());
  }
  if (*number < 0) return std::optional<Pairs>();
  if (*number > kMaxRank) {
    return InvalidArgument(what, " speak of ", *number, " dimensions; tensors have at most ",
                           kMaxRank);
  }
  Pairs pairs(static_cast<size_t>(*number), {-1, -1});
  if (c.input_value(i) != nullptr) {
    const std::optional<Dims> values = InputInts(c, i);
    for (size_t k = 0; values.has_value() && k < pairs.size(); ++k) {
      pairs[k] = {(*values)[2 * k], (*values)[2 * k + 1]};
      if (pairs[k].first < 0 || pairs[k].second < 0) {
        return InvalidArgument(what, " should not be negative but are ", pairs[k].first, " and ",
                               pairs[k].second);
      }
    }
  }
  return std::optional<Pairs>(std::move(pairs));
}

PartialShape OrUnknownOfRank(const PartialShape& shape, int64_t rank) {
  return shape.has_rank() || rank < 0 ? shape : PartialShape::UnknownOfRank(static_cast<int>(rank));
}

// Images of four dimensions, cut into square blocks.
struct ImageDims {
  int height;
  int width;
  int depth;
};
ImageDims ImageDimsOf(const ShapeContext& c) {
  return c.attr<std::string>("data_format") == "NHWC" ? ImageDims{1, 2, 3} : ImageDims{2, 3, 1};
}

// The sizes of the blocks; -1 where one is not known.
StatusOr<std::optional<Dims>> ReadBlockShape(const ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, c.WithRank(1, 1));
  if (shape.dim(0) >= kMaxRank) {
    return InvalidArgument("block_shape has ", shape.dim(0), " elements; tensors have at most ",
                           kMaxRank, " dimensions");
  }
  std::optional<Dims> blocks = InputInts(c, 1);
  if (!blocks.has_value()) return blocks;
  for (int64_t& block : *blocks) {
    if (block == kUnknownIndex) {
      block = -1;
    } else if (block < 1) {
      return InvalidArgument("block sizes should be positive but one is ", block);
    }
  }
  return blocks;
}

Status SpaceToBatchWith(ShapeContext& c, const PartialShape& in, const std::optional<Dims>& blocks,
                        int paddings_input) {
  const int64_t m = blocks.has_value() ? static_cast<int64_t>(blocks->size()) : -1;
  CARILLON_ASSIGN_OR_RETURN(const std::optional<Pairs> paddings,
                            ReadPairs(c, paddings_input, m, "paddings"));
  if (in.has_rank() && in.rank() < 1 + std::max<int64_t>(m, 0)) {
    return InvalidArgument("the input should have at least ", 1 + std::max<int64_t>(m, 0),
                           " dimensions but has ", in.rank());
  }
  if (!in.has_rank() || !blocks.has_value()) {
    c.set_output(0, in.has_rank() ? PartialShape::UnknownOfRank(in.rank()) : in);
    return absl::OkStatus();
  }
  Dims dims = DimsOf(in);
  for (size_t i = 0; i < blocks->size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(dims[0], MultiplySizes(dims[0], (*blocks)[i]));
    int64_t& size = dims[i + 1];
    CARILLON_ASSIGN_OR_RETURN(size, AddSizes(size, (*paddings)[i].first));
    CARILLON_ASSIGN_OR_RETURN(size, AddSizes(size, (*paddings)[i].second));
    CARILLON_ASSIGN_OR_RETURN(size, DivideSizes(size, (*blocks)[i]));
  }
  return SetDims(c, dims);
}

Status BatchToSpaceWith(ShapeContext& c, const PartialShape& in, const std::optional<Dims>& blocks,
                        int crops_input) {
  const int64_t m = blocks.has_value() ? static_cast<int64_t>(blocks->size()) : -1;
  CARILLON_ASSIGN_OR_RETURN(const std::optional<Pairs> crops,
                            ReadPairs(c, crops_input, m, "crops"));
  if (in.has_rank() && in.rank() < 1 + std::max<int64_t>(m, 0)) {
    return InvalidArgument("the input should have at least ", 1 + std::max<int64_t>(m, 0),
                           " dimensions but has ", in.rank());
  }
  if (!in.has_rank() || !blocks.has_value()) {
    c.set_output(0, in.has_rank() ? PartialShape::UnknownOfRank(in.rank()) : in);
    return absl::OkStatus();
  }
  Dims dims = DimsOf(in);
  for (size_t i = 0; i < blocks->size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(dims[0], DivideSizes(dims[0], (*blocks)[i]));
    int64_t& size = dims[i + 1];
    CARILLON_ASSIGN_OR_RETURN(size, MultiplySizes(size, (*blocks)[i]));
    CARILLON_ASSIGN_OR_RETURN(const int64_t cropped,
                              AddSizes((*crops)[i].first, (*crops)[i].second));
    if (size >= 0 && cropped > size) {
      return InvalidArgument("crops of dimension ", i + 1, " add up to ", cropped,
                             ", more than its size ", size);
    }
    size = size >= 0 && cropped >= 0 ? size - cropped : -1;
  }
  return SetDims(c, dims);
}

// The diagonals that input i names; nullopt when they are not known.
StatusOr<std::optional<DiagonalBand>> ReadBand(const ShapeContext& c, int i) {
  const PartialShape shape = c.input(i);
  if (shape.rank() > 1) {
    return InvalidArgument("k should be a scalar or a vector but has shape ", shape.ToString());
  }
  const std::optional<Dims> k = InputInts(c, i);
  if (!k.has_value() || std::ranges::find(*k, kUnknownIndex) != k->end())
    return std::optional<DiagonalBand>();
  CARILLON_ASSIGN_OR_RETURN(const DiagonalBand band, MakeBand(*k));
  return std::optional<DiagonalBand>(band);
}

Dims SquareBlocks(const ShapeContext& c) { return Dims(2, c.attr<int64_t>("block_size")); }

}  // namespace

Status ShapeTile(ShapeContext& c) {
  PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape multiples_shape, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const int64_t rank, MergeDim(multiples_shape.dim(0), in.rank()));
  if (rank < 0) {
    c.set_output(0, PartialShape());
    return absl::OkStatus();
  }
  if (rank > kMaxRank) {
    return InvalidArgument("multiples have ", rank, " elements; tensors have at most ", kMaxRank,
                           " dimensions");
  }
  in = OrUnknownOfRank(in, rank);
  const std::optional<Dims> multiples = InputInts(c, 1);
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  for (int i = 0; i < in.rank(); ++i) {
    int64_t multiple = multiples.has_value() ? (*multiples)[static_cast<size_t>(i)] : kUnknownIndex;
    if (multiple != kUnknownIndex && multiple < 0) {
      return InvalidArgument("multiples[", i, "] should not be negative but is ", multiple);
    }
    if (multiple == kUnknownIndex) multiple = -1;
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, MultiplySizes(in.dim(i), multiple));
    out.set_dim(i, size);
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapePad(ShapeContext& c) {
  PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const std::optional<Pairs> paddings,
                            ReadPairs(c, 1, in.rank(), "paddings"));
  if (!paddings.has_value()) {
    c.set_output(0, PartialShape());
    return absl::OkStatus();
  }
  in = OrUnknownOfRank(in, static_cast<int64_t>(paddings->size()));
  for (int i = 0; i < in.rank(); ++i) {
    const auto& [before, after] = (*paddings)[static_cast<size_t>(i)];
    CARILLON_ASSIGN_OR_RETURN(int64_t size, AddSizes(in.dim(i), before));
    CARILLON_ASSIGN_OR_RETURN(size, AddSizes(size, after));
    in.set_dim(i, size);
  }
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapePadV2(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  return ShapePad(c);
}

Status ShapeMirrorPadGrad(ShapeContext& c) {
  PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const std::optional<Pairs> paddings,
                            ReadPairs(c, 1, in.rank(), "paddings"));
  if (!paddings.has_value()) {
    c.set_output(0, PartialShape());
    return absl::OkStatus();
  }
  in = OrUnknownOfRank(in, static_cast<int64_t>(paddings->size()));
  for (int i = 0; i < in.rank(); ++i) {
    const auto& [before, after] = (*paddings)[static_cast<size_t>(i)];
    CARILLON_ASSIGN_OR_RETURN(const int64_t both, AddSizes(before, after));
    if (both < 0 || in.dim(i) < 0) {
      in.set_dim(i, -1);
    } else if (both >= in.dim(i)) {
      return InvalidArgument("paddings ", before, " and ", after, " should be less than dimension ",
                             i, " of size ", in.dim(i));
    } else {
      in.set_dim(i, in.dim(i) - both);
    }
  }
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapeBroadcastTo(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape out, SizesFromInput(c, 1, "shape"));
  const PartialShape in = c.input(0);
  if (in.has_rank() && out.has_rank()) {
    const int added = out.rank() - in.rank();
    bool fits = added >= 0;
    for (int i = 0; fits && i < in.rank(); ++i) {
      const int64_t size = in.dim(i);
      const int64_t wanted = out.dim(i + added);
      fits = size < 0 || size == 1 || wanted < 0 || size == wanted;
      if (wanted < 0 && size > 1) out.set_dim(i + added, size);
    }
    if (!fits) {
      return InvalidArgument("a tensor of shape ", in.ToString(), " cannot be broadcast to ",
                             out.ToString());
    }
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapeBroadcastArgs(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape first, c.WithRank(0, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape second, c.WithRank(1, 1));
  const bool known = first.dim(0) >= 0 && second.dim(0) >= 0;
  c.set_output(0, PartialShape{known ? std::max(first.dim(0), second.dim(0)) : -1});
  return absl::OkStatus();
}

Status ShapeBroadcastGradientArgs(ShapeContext& c) {
  for (int i = 0; i < 2; ++i) {
    CARILLON_RETURN_IF_ERROR(c.WithRank(i, 1).status());
    c.set_output(i, PartialShape{-1});
  }
  return absl::OkStatus();
}

Status ShapeDiag(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRankAtLeast(0, 1));
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  Dims dims = DimsOf(in);
  dims.insert(dims.end(), in.dims().begin(), in.dims().end());
  return SetDims(c, dims);
}

Status ShapeDiagPart(ShapeContext& c) {
  const PartialShape in = c.input(0);
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  if (in.rank() == 0 || in.rank() % 2 != 0) {
    return InvalidArgument("the input should have an even rank but has shape ", in.ToString());
  }
  const size_t half = static_cast<size_t>(in.rank() / 2);
  CARILLON_ASSIGN_OR_RETURN(
      const PartialShape out,
      MergeShapes(PartialShape(in.dims().first(half)), PartialShape(in.dims().subspan(half))));
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapeMatrixBandPart(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRankAtLeast(0, 2));
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapeMatrixDiag(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRankAtLeast(0, 1));
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  Dims dims = DimsOf(in);
  dims.push_back(dims.back());
  return SetDims(c, dims);
}

Status ShapeMatrixDiagPart(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRankAtLeast(0, 2));
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  Dims dims = DimsOf(in);
  const int64_t columns = dims.back();
  dims.pop_back();
  const bool known = columns >= 0 && dims.back() >= 0;
  // Of an empty matrix the diagonal is empty, whatever the other side.
  dims.back() = known || columns == 0 || dims.back() == 0
                    ? std::max<int64_t>(std::min(dims.back(), columns), 0)
                    : -1;
  return SetDims(c, dims);
}

Status ShapeMatrixSetDiag(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape in, c.WithRankAtLeast(0, 2));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape diagonal, c.WithRankAtLeast(1, 1));
  if (in.has_rank() && diagonal.has_rank()) {
    CARILLON_RETURN_IF_ERROR(MergeDim(in.rank(), diagonal.rank() + 1).status());
    const int64_t rows = in.dim(in.rank() - 2);
    const int64_t columns = in.dim(in.rank() - 1);
    if (rows >= 0 && columns >= 0) {
      CARILLON_RETURN_IF_ERROR(
          MergeDim(std::min(rows, columns), diagonal.dim(diagonal.rank() - 1)).status());
    }
    for (int i = 0; i + 2 < in.rank(); ++i) {
      CARILLON_ASSIGN_OR_RETURN(const int64_t size, MergeDim(in.dim(i), diagonal.dim(i)));
      in.set_dim(i, size);
    }
  } else if (diagonal.has_rank() && diagonal.rank() < kMaxRank) {
    in = PartialShape::UnknownOfRank(diagonal.rank() + 1);
    for (int i = 0; i + 1 < diagonal.rank(); ++i) in.set_dim(i, diagonal.dim(i));
  }
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapeMatrixDiagV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape diagonal, c.WithRankAtLeast(0, 1));
  for (int i = 2; i < 5; ++i) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
  c.set_output(0, PartialShape());
  CARILLON_ASSIGN_OR_RETURN(const std::optional<DiagonalBand> band, ReadBand(c, 1));
  if (!diagonal.has_rank() || !band.has_value()) return absl::OkStatus();
  const bool has_several = band->lower < band->upper;
  if (has_several && diagonal.rank() < 2) {
    return InvalidArgument("several diagonals need two dimensions but have shape ",
                           diagonal.ToString());
  }
  Dims dims = DimsOf(diagonal);
  const int64_t longest = dims.back();
  dims.pop_back();
  if (has_several) {
    CARILLON_RETURN_IF_ERROR(MergeDim(dims.back(), band->count()).status());
    dims.pop_back();
  }
  // Given numbers of rows and columns are known even where the diagonals are not.
  const std::optional<int64_t> given_rows = InputInt(c, 2);
  const std::optional<int64_t> given_columns = InputInt(c, 3);
  MatrixSizes sizes{std::max<int64_t>(given_rows.value_or(-1), -1),
                    std::max<int64_t>(given_columns.value_or(-1), -1)};
  if (longest >= 0 && given_rows.has_value() && given_columns.has_value()) {
    CARILLON_ASSIGN_OR_RETURN(sizes, SizesAroundBand(*band, longest, *given_rows, *given_columns));
  }
  dims.push_back(sizes.rows);
  dims.push_back(sizes.columns);
  return SetDims(c, dims);
}

Status ShapeMatrixDiagPartV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRankAtLeast(0, 2));
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  c.set_output(0, PartialShape());
  CARILLON_ASSIGN_OR_RETURN(const std::optional<DiagonalBand> band, ReadBand(c, 1));
  if (!in.has_rank() || !band.has_value()) return absl::OkStatus();
  Dims dims = DimsOf(in);
  const int64_t columns = dims.back();
  dims.pop_back();
  const int64_t rows = dims.back();
  dims.pop_back();
  if (band->lower < band->upper) dims.push_back(band->count());
  if (rows >= 0 && columns >= 0) {
    CARILLON_RETURN_IF_ERROR(band->CheckInside(rows, columns));
    dims.push_back(band->Longest(rows, columns));
  } else {
    dims.push_back(-1);
  }
  return SetDims(c, dims);
}

Status ShapeMatrixSetDiagV2(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape in, c.WithRankAtLeast(0, 2));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape diagonal, c.WithRankAtLeast(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const std::optional<DiagonalBand> band, ReadBand(c, 2));
  if (in.has_rank() && diagonal.has_rank() && band.has_value()) {
    const bool has_several = band->lower < band->upper;
    CARILLON_RETURN_IF_ERROR(
        MergeDim(in.rank() - 1, diagonal.rank() - (has_several ? 1 : 0)).status());
    const int64_t rows = in.dim(in.rank() - 2);
    const int64_t columns = in.dim(in.rank() - 1);
    if (rows >= 0 && columns >= 0) {
      CARILLON_RETURN_IF_ERROR(band->CheckInside(rows, columns));
      CARILLON_RETURN_IF_ERROR(
          MergeDim(band->Longest(rows, columns), diagonal.dim(diagonal.rank() - 1)).status());
    }
    for (int i = 0; i + 2 < in.rank(); ++i) {
      CARILLON_ASSIGN_OR_RETURN(const int64_t size, MergeDim(in.dim(i), diagonal.dim(i)));
      in.set_dim(i, size);
    }
  }
  c.set_output(0, in);
  return absl::OkStatus();
}

Status ShapeSpaceToBatch(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, 4));
  return SpaceToBatchWith(c, in, SquareBlocks(c), 1);
}

Status ShapeBatchToSpace(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape in, c.WithRank(0, 4));
  return BatchToSpaceWith(c, in, SquareBlocks(c), 1);
}

Status ShapeSpaceToBatchNd(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const std::optional<Dims> blocks, ReadBlockShape(c));
  return SpaceToBatchWith(c, c.input(0), blocks, 2);
}

Status ShapeBatchToSpaceNd(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const std::optional<Dims> blocks, ReadBlockShape(c));
  return BatchToSpaceWith(c, c.input(0), blocks, 2);
}

Status ShapeSpaceToDepth(ShapeContext& c) {
  if (c.attr<std::string>("data_format") == "NCHW_VECT_C") return ShapeUnknown(c);
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, c.WithRank(0, 4));
  const int64_t block = c.attr<int64_t>("block_size");
  const ImageDims dims = ImageDimsOf(c);
  CARILLON_ASSIGN_OR_RETURN(const int64_t area, MultiplySizes(block, block));
  CARILLON_ASSIGN_OR_RETURN(const int64_t height, DivideSizes(shape.dim(dims.height), block));
  CARILLON_ASSIGN_OR_RETURN(const int64_t width, DivideSizes(shape.dim(dims.width), block));
  CARILLON_ASSIGN_OR_RETURN(const int64_t depth, MultiplySizes(shape.dim(dims.depth), area));
  shape.set_dim(dims.height, height);
  shape.set_dim(dims.width, width);
  shape.set_dim(dims.depth, depth);
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeDepthToSpace(ShapeContext& c) {
  if (c.attr<std::string>("data_format") == "NCHW_VECT_C") return ShapeUnknown(c);
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, c.WithRank(0, 4));
  const int64_t block = c.attr<int64_t>("block_size");
  const ImageDims dims = ImageDimsOf(c);
  CARILLON_ASSIGN_OR_RETURN(const int64_t area, MultiplySizes(block, block));
  CARILLON_ASSIGN_OR_RETURN(const int64_t height, MultiplySizes(shape.dim(dims.height), block));
  CARILLON_ASSIGN_OR_RETURN(const int64_t width, MultiplySizes(shape.dim(dims.width), block));
  CARILLON_ASSIGN_OR_RETURN(const int64_t depth, DivideSizes(shape.dim(dims.depth), area));
  shape.set_dim(dims.height, height);
  shape.set_dim(dims.width, width);
  shape.set_dim(dims.depth, depth);
  c.set_output(0, shape);
  return absl::OkStatus();
}

}  // namespace carillon
