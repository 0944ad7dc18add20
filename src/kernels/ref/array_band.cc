// Kernels for bands of diagonals: MatrixDiagV2 and V3, and what belongs to them. The diagonals of a
// band lie in rows, the upper one first; those shorter than the longest are padded.
#include <algorithm>

#include "graph/ops/array_rules.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {
namespace {

// On which side short diagonals stand in their rows: those above the main one, and those below.
struct Alignment {
  explicit Alignment(const KernelRequest& request) {
    const AttrValue* align = request.node.FindAttr("align");
    if (align == nullptr) return;  // V2
    const std::string& words = request.attr<std::string>("align");
    upper_left = words.starts_with("LEFT");
    lower_left = words.ends_with("LEFT");
  }
  int64_t Offset(int64_t d, int64_t length, int64_t longest) const {
    const bool left = (d >= 0 && upper_left) || (d <= 0 && lower_left);
    return left ? 0 : longest - length;
  }
  bool upper_left = true;
  bool lower_left = true;
};

StatusOr<DiagonalBand> ReadBand(const Tensor& k) {
  if (k.rank() > 1 || k.num_elements() > 2) {
    return InvalidArgument("k should be one diagonal or two but has shape ", k.shape().ToString());
  }
  return MakeBand(ReadInts(k));
}

// Matrices, and the rows that hold their band.
struct BandLayout {
  int64_t batch;
  int64_t rows;
  int64_t columns;
  DiagonalBand band;
  int64_t longest;

  // Calls copy(offset in the first matrix, offset in the rows, dims) for each diagonal, with the
  // matrices' strides in `from` and those of the rows in `to`.
  template <typename Copy>
  void ForDiagonals(const Alignment& alignment, Copy&& copy) const {
    for (int64_t d = band.lower; d <= band.upper; ++d) {
      const int64_t length = DiagonalBand::Length(d, rows, columns);
      if (length <= 0) continue;
      const int64_t in_matrix = std::max<int64_t>(-d, 0) * columns + std::max<int64_t>(d, 0);
      const int64_t in_rows = (band.upper - d) * longest + alignment.Offset(d, length, longest);
      copy(in_matrix, in_rows,
           CopyDims{{batch, rows * columns, band.count() * longest}, {length, columns + 1, 1}});
    }
  }
};

// The layout of matrices of this shape, which has two dimensions or more.
BandLayout LayoutOf(const Shape& shape, const DiagonalBand& band) {
  const int64_t rows = shape.dim(shape.rank() - 2);
  const int64_t columns = shape.dim(shape.rank() - 1);
  return {ElementsBefore(shape, shape.rank() - 2), rows, columns, band,
          band.Longest(rows, columns)};
}

// The same for an input, in which all diagonals have to be.
StatusOr<BandLayout> LayoutOfInput(const Shape& shape, const DiagonalBand& band) {
  if (shape.rank() < 2) {
    return InvalidArgument("the input should have at least two dimensions but has shape ",
                           shape.ToString());
  }
  const BandLayout layout = LayoutOf(shape, band);
  CARILLON_RETURN_IF_ERROR(band.CheckInside(layout.rows, layout.columns));
  return layout;
}

// The shape of the rows that hold the band of matrices of shape `shape`.
StatusOr<Shape> RowsShape(const Shape& shape, const BandLayout& layout) {
  Ints dims(shape.dims().begin(), shape.dims().end() - 2);
  if (layout.band.count() > 1) dims.push_back(layout.band.count());
  dims.push_back(layout.longest);
  return MakeShape(dims);
}

Status CheckPadding(const Tensor& padding) {
  if (padding.rank() == 0) return absl::OkStatus();
  return InvalidArgument("padding_value should be a scalar but has shape ",
                         padding.shape().ToString());
}

class MatrixDiagKernel final : public Kernel {
 public:
  explicit MatrixDiagKernel(const KernelRequest& request) : alignment_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor& diagonal = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const DiagonalBand band, ReadBand(context.input(1)));
    CARILLON_ASSIGN_OR_RETURN(const int64_t rows, ReadScalarInt(context.input(2), "num_rows"));
    CARILLON_ASSIGN_OR_RETURN(const int64_t columns, ReadScalarInt(context.input(3), "num_cols"));
    CARILLON_RETURN_IF_ERROR(CheckPadding(context.input(4)));
    const int row_dims = band.count() > 1 ? 2 : 1;
    if (diagonal.rank() < row_dims ||
        (row_dims == 2 && diagonal.dim(diagonal.rank() - 2) != band.count())) {
      return InvalidArgument("diagonals of shape ", diagonal.shape().ToString(), " are not the ",
                             band.count(), " diagonals ", band.lower, " to ", band.upper);
    }
    const int64_t longest = diagonal.dim(diagonal.rank() - 1);
    CARILLON_ASSIGN_OR_RETURN(const MatrixSizes sizes,
                              SizesAroundBand(band, longest, rows, columns));
    Ints dims(diagonal.shape().dims().begin(), diagonal.shape().dims().end() - row_dims);
    dims.push_back(sizes.rows);
    dims.push_back(sizes.columns);
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    FillElements(output->dtype(), output->mutable_raw_data(), shape.num_elements(),
                 context.input(4).raw_data());
    if (shape.num_elements() == 0 || diagonal.num_elements() == 0) return absl::OkStatus();
    const BandLayout layout = LayoutOf(shape, band);
    layout.ForDiagonals(alignment_, [&](int64_t to, int64_t from, CopyDims box) {
      for (CopyDim& dim : box) std::swap(dim.from, dim.to);
      CopyStrided(diagonal.dtype(), At(diagonal, from), At(*output, to), std::move(box));
    });
    return absl::OkStatus();
  }

 private:
  const Alignment alignment_;
};

class MatrixDiagPartKernel final : public Kernel {
 public:
  explicit MatrixDiagPartKernel(const KernelRequest& request) : alignment_(request) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(const DiagonalBand band, ReadBand(context.input(1)));
    CARILLON_RETURN_IF_ERROR(CheckPadding(context.input(2)));
    CARILLON_ASSIGN_OR_RETURN(const BandLayout layout, LayoutOfInput(input.shape(), band));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, RowsShape(input.shape(), layout));
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    FillElements(output->dtype(), output->mutable_raw_data(), shape.num_elements(),
                 context.input(2).raw_data());
    if (shape.num_elements() == 0 || input.num_elements() == 0) return absl::OkStatus();
    layout.ForDiagonals(alignment_, [&](int64_t from, int64_t to, CopyDims box) {
      CopyStrided(input.dtype(), At(input, from), At(*output, to), std::move(box));
    });
    return absl::OkStatus();
  }

 private:
  const Alignment alignment_;
};

class MatrixSetDiagKernel final : public Kernel {
 public:
  explicit MatrixSetDiagKernel(const KernelRequest& request) : alignment_(request) {
    traits_.reuses.push_back({0, 0});
  }

  Status Run(KernelContext& context) override {
    const Shape shape = context.input(0).shape();
    const void* from = context.input(0).raw_data();
    const Tensor& diagonal = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const DiagonalBand band, ReadBand(context.input(2)));
    CARILLON_ASSIGN_OR_RETURN(const BandLayout layout, LayoutOfInput(shape, band));
    CARILLON_ASSIGN_OR_RETURN(const Shape wanted, RowsShape(shape, layout));
    if (diagonal.shape() != wanted) {
      return InvalidArgument("the diagonals ", band.lower, " to ", band.upper,
                             " of an input of shape ", shape.ToString(), " should have shape ",
                             wanted.ToString(), " but have ", diagonal.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, shape));
    if (output->raw_data() != from) {
      CopyElements(output->dtype(), from, output->mutable_raw_data(), shape.num_elements());
    }
    if (shape.num_elements() == 0) return absl::OkStatus();
    layout.ForDiagonals(alignment_, [&](int64_t to, int64_t source, CopyDims box) {
      for (CopyDim& dim : box) std::swap(dim.from, dim.to);
      CopyStrided(diagonal.dtype(), At(diagonal, source), At(*output, to), std::move(box));
    });
    return absl::OkStatus();
  }

 private:
  const Alignment alignment_;
};

}  // namespace

void AddArrayBandKernels(KernelTable& table) {
  table.Add({
      {"MatrixDiagV2", "ref", FromClass<MatrixDiagKernel>},
      {"MatrixDiagV3", "ref", FromClass<MatrixDiagKernel>},
      {"MatrixDiagPartV2", "ref", FromClass<MatrixDiagPartKernel>},
      {"MatrixDiagPartV3", "ref", FromClass<MatrixDiagPartKernel>},
      {"MatrixSetDiagV2", "ref", FromClass<MatrixSetDiagKernel>},
      {"MatrixSetDiagV3", "ref", FromClass<MatrixSetDiagKernel>},
  });
}

}  // namespace carillon
