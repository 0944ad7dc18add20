#include "graph/ops/array_shapes.h"

#include <algorithm>

#include "graph/ops/array_rules.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// More elements than any shape or slice has: the value is not looked at.
constexpr int64_t kManyInts = 1024;

Dims DimsOf(const PartialShape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

// Values `first` … `first` + count - 1 joined along `axis`.
Status Join(ShapeContext& c, int first, int count, int axis_input) {
  PartialShape rank_only;  // unknown dimensions of the common rank
  for (int i = 0; i < count; ++i) {
    const PartialShape shape = c.input(first + i);
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0) return InvalidArgument("scalars cannot be concatenated: pack them");
    CARILLON_ASSIGN_OR_RETURN(rank_only,
                              MergeShapes(rank_only, PartialShape::UnknownOfRank(shape.rank())));
  }
  c.set_output(0, rank_only);
  const std::optional<int64_t> given = InputInt(c, axis_input);
  if (!rank_only.has_rank() || !given.has_value()) return absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(*given, rank_only.rank()));
  PartialShape joined = rank_only;
  int64_t size = 0;
  for (int i = 0; i < count; ++i) {
    PartialShape shape = c.input(first + i);
    if (!shape.has_rank()) {
      size = -1;
      continue;
    }
    CARILLON_ASSIGN_OR_RETURN(size, AddSizes(size, shape.dim(axis)));
    shape.set_dim(axis, -1);
    CARILLON_ASSIGN_OR_RETURN(joined, MergeShapes(joined, shape));
  }
  joined.set_dim(axis, size);
  c.set_output(0, joined);
  return absl::OkStatus();
}

}  // namespace

std::optional<Dims> InputInts(const ShapeContext& c, int i) {
  if (const Tensor* value = c.input_value(i)) {
    if (value->num_elements() > kManyInts) return std::nullopt;
    Dims ints;
    DispatchInteger(value->dtype(), [&]<typename T>() {
      for (const T element : value->values<T>())
        ints.push_back(std::max(static_cast<int64_t>(element), kUnknownIndex + 1));
    });
    if (ints.size() != static_cast<size_t>(value->num_elements())) return std::nullopt;
    return ints;
  }
  const std::optional<PartialShape> sizes = c.input_as_sizes(i);
  Dims ints;
  if (sizes.has_value()) {
    for (const int64_t size : sizes->dims()) ints.push_back(size < 0 ? kUnknownIndex : size);
    return ints;
  }
  const PartialShape shape = c.input(i);
  if (shape.rank() != 1 || shape.dim(0) < 0 || shape.dim(0) > kManyInts) return std::nullopt;
  ints.resize(static_cast<size_t>(shape.dim(0)), kUnknownIndex);
  return ints;
}

std::optional<int64_t> InputInt(const ShapeContext& c, int i) {
  const std::optional<Dims> ints = InputInts(c, i);
  if (!ints.has_value() || ints->size() != 1 || ints->front() == kUnknownIndex) return std::nullopt;
  return ints->front();
}

StatusOr<PartialShape> MakePartialShape(std::span<const int64_t> dims) {
  PartialShape shape;
  if (PartialShape::TryMake(dims, &shape)) return shape;
  if (dims.size() > kMaxRank) {
    return InvalidArgument("the result would have ", dims.size(),
                           " dimensions; tensors have at most ", kMaxRank);
  }
  return InvalidArgument("a dimension of the result should not be negative but is ",
                         *std::ranges::min_element(dims));
}

Status SetDims(ShapeContext& c, std::span<const int64_t> dims) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, MakePartialShape(dims));
  c.set_output(0, shape);
  return absl::OkStatus();
}

StatusOr<PartialShape> SizesFromInput(const ShapeContext& c, int i, std::string_view what,
                                      bool scalar_ok) {
  const PartialShape shape = c.input(i);
  if (shape.has_rank() && shape.rank() != 1 && !(scalar_ok && shape.rank() == 0)) {
    return InvalidArgument(what, " should be a vector of sizes but has shape ", shape.ToString());
  }
  std::optional<Dims> sizes = InputInts(c, i);
  if (!sizes.has_value()) return PartialShape();
  for (int64_t& size : *sizes) {
    if (size == kUnknownIndex) {
      size = -1;
    } else if (size < 0) {
      return InvalidArgument(what, " should not be negative but holds ", size);
    }
  }
  return MakePartialShape(*sizes);
}

StatusOr<int64_t> AddSizes(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    return InvalidArgument("sizes ", a, " and ", b, " add up to too much");
  }
  return sum;
}

StatusOr<int64_t> MultiplySizes(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (a < 0 || b < 0) return -1;
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    return InvalidArgument("sizes ", a, " and ", b, " multiply to too much");
  }
  return product;
}

StatusOr<int64_t> DivideSizes(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  if (b == 0 || a % b != 0) return InvalidArgument("size ", a, " is not divisible by ", b);
  return a / b;
}

Status ShapeConst(ShapeContext& c) {
  const Tensor& value = c.attr<Tensor>("value");
  if (value.dtype() != c.attr<DType>("dtype")) {
    return InvalidArgument("attribute 'value' is a ", DTypeName(value.dtype()),
                           " tensor but 'dtype' says ", DTypeName(c.attr<DType>("dtype")));
  }
  c.set_output(0, value.shape());
  return absl::OkStatus();
}

Status ShapeOfAttr(ShapeContext& c) {
  c.set_output(0, c.attr<PartialShape>("shape"));
  return absl::OkStatus();
}

Status ShapePlaceholderWithDefault(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(MergeShapes(c.input(0), c.attr<PartialShape>("shape")).status());
  return ShapeOfAttr(c);
}

Status ShapeOfEachInput(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(i));
    if (const auto handle = c.input_handle(i)) c.set_output_handle(i, *handle);
  }
  return absl::OkStatus();
}

Status ShapeEnsure(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape,
                            MergeShapes(c.input(0), c.attr<PartialShape>("shape")));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape{c.input(i).rank()});
  return absl::OkStatus();
}

Status ShapeReshape(ShapeContext& c) {
  const PartialShape in = c.input(0);
  const PartialShape shape_of_sizes = c.input(1);
  if (shape_of_sizes.rank() > 1) {
    return InvalidArgument("the new shape should be a vector but has shape ",
                           shape_of_sizes.ToString());
  }
  c.set_output(0, PartialShape());
  const std::optional<Dims> sizes = InputInts(c, 1);
  if (!sizes.has_value()) return absl::OkStatus();
  Shape known_input;
  const bool input_known = in.AsShape(&known_input);
  if (c.input_value(1) != nullptr && input_known) {
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ResolveReshape(known_input, *sizes));
    c.set_output(0, shape);
    return absl::OkStatus();
  }
  // What is -1 or unknown comes out alike: whatever the other sizes leave over.
  Dims dims;
  int open = -1;
  int num_open = 0;
  int64_t rest = 1;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size < -1 && size != kUnknownIndex) {
      return InvalidArgument("size ", i, " of the new shape should not be negative but is ", size);
    }
    dims.push_back(std::max<int64_t>(size, -1));
    if (size < 0) {
      open = static_cast<int>(i);
      ++num_open;
    } else {
      CARILLON_ASSIGN_OR_RETURN(rest, MultiplySizes(rest, size));
    }
  }
  const bool input_empty = std::ranges::find(in.dims(), 0) != in.dims().end();
  const int64_t elements = input_known ? known_input.num_elements() : input_empty ? 0 : -1;
  if (num_open == 1 && elements >= 0 && rest > 0 && elements % rest == 0) {
    dims[static_cast<size_t>(open)] = elements / rest;
  }
  if (num_open == 0 && in.has_rank()) {
    int64_t known = 1;
    for (const int64_t size : in.dims()) {
      if (size >= 0 && known > 0 && __builtin_mul_overflow(known, size, &known)) known = 0;
    }
    if (known > 0 && rest % known != 0) {
      return InvalidArgument("a tensor of shape ", in.ToString(), " cannot be reshaped to ",
                             PartialShape(dims).ToString());
    }
  }
  return SetDims(c, dims);
}

Status ShapeExpandDims(ShapeContext& c) {
  const PartialShape in = c.input(0);
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  const PartialShape dim_shape = c.input(1);
  Shape known;
  if (dim_shape.AsShape(&known) && known.num_elements() != 1) {
    return InvalidArgument("dim should be one value but has shape ", dim_shape.ToString());
  }
  if (in.rank() == kMaxRank) {
    return InvalidArgument("a tensor of ", kMaxRank, " dimensions cannot get another");
  }
  c.set_output(0, PartialShape::UnknownOfRank(in.rank() + 1));
  const std::optional<int64_t> dim = InputInt(c, 1);
  if (!dim.has_value()) return absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(const int at, ResolveAxis(*dim, in.rank() + 1));
  Dims dims = DimsOf(in);
  dims.insert(dims.begin() + at, 1);
  return SetDims(c, dims);
}

Status ShapeSqueeze(ShapeContext& c) {
  const PartialShape in = c.input(0);
  const auto& wanted = c.attr<std::vector<int64_t>>("squeeze_dims");
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  std::array<bool, kMaxRank> squeezed{};
  for (const int64_t dim : wanted) {
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(dim, in.rank()));
    if (in.dim(axis) >= 0 && in.dim(axis) != 1) {
      return InvalidArgument("dimension ", axis, " of shape ", in.ToString(),
                             " cannot be squeezed: it is not 1");
    }
    squeezed[static_cast<size_t>(axis)] = true;
  }
  Dims dims;
  for (int i = 0; i < in.rank(); ++i) {
    if (wanted.empty() && in.dim(i) < 0) return absl::OkStatus();  // it may vanish or not
    if (wanted.empty() ? in.dim(i) != 1 : !squeezed[static_cast<size_t>(i)])
      dims.push_back(in.dim(i));
  }
  return SetDims(c, dims);
}

Status ShapeTranspose(ShapeContext& c) {
  PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape perm_shape, c.WithRank(1, 1));
  const std::optional<Dims> perm = InputInts(c, 1);
  if (!in.has_rank()) {
    if (perm_shape.dim(0) < 0) {
      c.set_output(0, PartialShape());
      return absl::OkStatus();
    }
    const Dims unknown(static_cast<size_t>(std::min<int64_t>(perm_shape.dim(0), kMaxRank + 1)), -1);
    CARILLON_ASSIGN_OR_RETURN(in, MakePartialShape(unknown));
  }
  if (perm_shape.dim(0) >= 0 && perm_shape.dim(0) != in.rank()) {
    return InvalidArgument("perm has ", perm_shape.dim(0), " elements but the input ", in.rank(),
                           " dimensions");
  }
  PartialShape out = PartialShape::UnknownOfRank(in.rank());
  std::array<bool, kMaxRank> seen{};
  for (int i = 0; perm.has_value() && i < in.rank(); ++i) {
    const int64_t entry = (*perm)[static_cast<size_t>(i)];
    if (entry == kUnknownIndex) continue;
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(entry, in.rank()));
    if (std::exchange(seen[static_cast<size_t>(axis)], true)) {
      return InvalidArgument("dimension ", axis, " appears twice in perm");
    }
    out.set_dim(i, in.dim(axis));
  }
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ShapeConcat(ShapeContext& c) { return Join(c, 1, c.num_inputs() - 1, 0); }

Status ShapeConcatV2(ShapeContext& c) {
  const int count = c.num_inputs() - 1;
  return Join(c, 0, count, count);
}

Status ShapeConcatOffset(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, c.WithRank(i + 1, 1));
    c.set_output(i, shape);
  }
  return absl::OkStatus();
}

Status ShapeSplit(ShapeContext& c) {
  const PartialShape in = c.input(1);
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  PartialShape out;
  if (in.has_rank()) {
    out = PartialShape::UnknownOfRank(in.rank());
    if (const std::optional<int64_t> given = InputInt(c, 0)) {
      CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(*given, in.rank()));
      CARILLON_ASSIGN_OR_RETURN(const int64_t size, DivideSizes(in.dim(axis), c.num_outputs()));
      out = in;
      out.set_dim(axis, size);
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return absl::OkStatus();
}

Status ShapeSplitV(ShapeContext& c) {
  const PartialShape in = c.input(0);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape sizes_shape, c.WithRank(1, 1));
  CARILLON_RETURN_IF_ERROR(MergeDim(sizes_shape.dim(0), c.num_outputs()).status());
  std::optional<int64_t> given = InputInt(c, 2);
  if (!given.has_value() && in.rank() == 1) given = 0;  // there is no other
  if (!in.has_rank() || (!given.has_value() && c.num_outputs() > 1)) {
    for (int i = 0; i < c.num_outputs(); ++i) {
      c.set_output(i, in.has_rank() ? PartialShape::UnknownOfRank(in.rank()) : PartialShape());
    }
    return absl::OkStatus();
  }
  if (!given.has_value()) {
    c.set_output(0, in);
    return absl::OkStatus();
  }
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(*given, in.rank()));
  std::optional<Dims> sizes = InputInts(c, 1);
  // What is known adds up to at most the whole; a single open size takes the rest.
  int64_t known = 0;
  int64_t* open = nullptr;
  int num_open = 0;
  if (sizes.has_value()) {
    for (int64_t& size : *sizes) {
      if (size == -1 || size == kUnknownIndex) {
        open = &size;
        ++num_open;
        size = -1;
      } else if (size < 0) {
        return InvalidArgument("size_splits should not be negative but one is ", size);
      } else {
        CARILLON_ASSIGN_OR_RETURN(known, AddSizes(known, size));
      }
    }
    const int64_t whole = in.dim(axis);
    if (whole >= 0 && (num_open == 0 ? known != whole : known > whole)) {
      return InvalidArgument("size_splits add up to ", known, " but dimension ", axis,
                             " of the value has size ", whole);
    }
    if (num_open == 1 && whole >= 0) *open = whole - known;
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    PartialShape out = in;
    if (c.num_outputs() > 1)
      out.set_dim(axis, sizes.has_value() ? (*sizes)[static_cast<size_t>(i)] : -1);
    c.set_output(i, out);
  }
  return absl::OkStatus();
}

Status ShapePack(ShapeContext& c) {
  PartialShape each;
  for (int i = 0; i < c.num_inputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(each, MergeShapes(each, c.input(i)));
  }
  c.set_output(0, PartialShape());
  if (!each.has_rank()) return absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(c.attr<int64_t>("axis"), each.rank() + 1));
  Dims dims = DimsOf(each);
  dims.insert(dims.begin() + axis, c.num_inputs());
  return SetDims(c, dims);
}

Status ShapeUnpack(ShapeContext& c) {
  const PartialShape in = c.input(0);
  PartialShape out;
  if (in.has_rank()) {
    CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(c.attr<int64_t>("axis"), in.rank()));
    CARILLON_RETURN_IF_ERROR(MergeDim(in.dim(axis), c.num_outputs()).status());
    Dims dims = DimsOf(in);
    dims.erase(dims.begin() + axis);
    out = PartialShape(std::span<const int64_t>(dims));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, out);
  return absl::OkStatus();
}

Status ShapeFill(ShapeContext& c) {
  Shape value;
  if (c.input(1).AsShape(&value) && value.num_elements() != 1) {
    return InvalidArgument("value should be a scalar but has shape ", value.ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape,
                            SizesFromInput(c, 0, "dims", /*scalar_ok=*/true));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeEmpty(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, SizesFromInput(c, 0, "shape"));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeRange(ShapeContext& c) {
  c.set_output(0, PartialShape{-1});
  for (int i = 0; i < 3; ++i) {
    Shape shape;
    if (c.input(i).AsShape(&shape) && shape.num_elements() != 1) {
      return InvalidArgument("start, limit and delta should be scalars but input ", i,
                             " has shape ", shape.ToString());
    }
  }
  StatusOr<int64_t> size = -1;
  const DType dtype = c.input_dtype(0);
  const Tensor* values[3] = {c.input_value(0), c.input_value(1), c.input_value(2)};
  if (std::ranges::all_of(values, [](const Tensor* value) { return value != nullptr; })) {
    DispatchNumber(dtype, [&]<typename T>() {
      size = RangeSize(values[0]->data<T>()[0], values[1]->data<T>()[0], values[2]->data<T>()[0]);
    });
  } else if (dtype == DType::kInt32 || dtype == DType::kInt64) {
    const std::optional<int64_t> start = InputInt(c, 0);
    const std::optional<int64_t> limit = InputInt(c, 1);
    const std::optional<int64_t> delta = InputInt(c, 2);
    if (start.has_value() && limit.has_value() && delta.has_value())
      size = RangeSize(*start, *limit, *delta);
  }
  CARILLON_RETURN_IF_ERROR(size.status());
  c.set_output(0, PartialShape{*size});
  return absl::OkStatus();
}

Status ShapeLinSpace(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
  const std::optional<int64_t> num = InputInt(c, 2);
  if (num.has_value() && *num <= 0) return InvalidArgument("num should be positive but is ", *num);
  c.set_output(0, PartialShape{num.value_or(-1)});
  return absl::OkStatus();
}

Status ShapeOneHot(ShapeContext& c) {
  const int64_t given = c.attr<int64_t>("axis");
  const PartialShape indices = c.input(0);
  for (int i = 1; i < 4; ++i) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
  const std::optional<int64_t> depth = InputInt(c, 1);
  if (depth.has_value() && *depth < 0)
    return InvalidArgument("depth should not be negative but is ", *depth);
  if (given < -1) return InvalidArgument("axis should be -1 or more but is ", given);
  c.set_output(0, PartialShape());
  if (!indices.has_rank()) return absl::OkStatus();
  if (given > indices.rank()) {
    return InvalidArgument("axis should be -1 or in [0, ", indices.rank(), "] but is ", given);
  }
  Dims dims = DimsOf(indices);
  dims.insert(given == -1 ? dims.end() : dims.begin() + given, depth.value_or(-1));
  return SetDims(c, dims);
}

Status ShapeBitcast(ShapeContext& c) {
  const PartialShape in = c.input(0);
  const int64_t from = static_cast<int64_t>(DTypeSize(c.input_dtype(0)));
  const int64_t to = static_cast<int64_t>(DTypeSize(c.attr<DType>("type")));
  c.set_output(0, PartialShape());
  if (!in.has_rank()) return absl::OkStatus();
  Dims dims = DimsOf(in);
  if (from > to) {
    dims.push_back(from / to);
  } else if (from < to) {
    if (dims.empty() || (dims.back() >= 0 && dims.back() != to / from)) {
      return InvalidArgument("a ", DTypeName(c.input_dtype(0)), " tensor of shape ", in.ToString(),
                             " can be read as ", DTypeName(c.attr<DType>("type")),
                             " only when its last dimension is ", to / from);
    }
    dims.pop_back();
  }
  return SetDims(c, dims);
}

}  // namespace carillon
