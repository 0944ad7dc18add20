#include "graph/window.h"

#include <algorithm>

#include "graph/node_graph.h"

namespace carillon {
namespace {

// Windows, strides, pads and inputs stay below this, so that sums and products of two of them fit
// an int64.
constexpr int64_t kMaxSize = int64_t{1} << 31;

Status CheckPositive(std::string_view what, int64_t value) {
  if (value < 1 || value > kMaxSize) {
    return InvalidArgument(what, " must be between 1 and ", kMaxSize, " but is ", value);
  }
  return absl::OkStatus();
}

Status CheckFour(std::string_view what, std::span<const int64_t> values) {
  if (values.size() == 4) return absl::OkStatus();
  return InvalidArgument(what, " must have 4 values but has ", values.size());
}

Shape ImageShape(const ImageFormat& format, int64_t batch, int64_t channels, int64_t height,
                 int64_t width) {
  std::array<int64_t, 4> dims;
  dims[static_cast<size_t>(format.batch)] = batch;
  dims[static_cast<size_t>(format.channels)] = channels;
  dims[static_cast<size_t>(format.height)] = height;
  dims[static_cast<size_t>(format.width)] = width;
  return Shape(dims);
}

Status CheckRank(std::string_view what, const Shape& shape, int rank) {
  if (shape.rank() == rank) return absl::OkStatus();
  return InvalidArgument("the ", what, " must have ", rank, " dimensions but is ",
                         shape.ToString());
}

// A non-empty image is a shape: its element count fits an int64. Holds for every image of an empty
// batch too, so that kernels may form strides.
Status CheckImage(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  const auto least_one = [](int64_t size) { return std::max<int64_t>(1, size); };
  const std::array<int64_t, 4> dims = {least_one(batch), least_one(channels), least_one(height),
                                       least_one(width)};
  Shape shape;
  if (Shape::TryMake(dims, &shape)) return absl::OkStatus();
  return InvalidArgument(batch, " images of ", height, "x", width, "x", channels,
                         " have too many elements");
}

}  // namespace

StatusOr<ImageFormat> ImageFormat::Parse(const std::string& data_format) {
  if (data_format == "NHWC") return ImageFormat{};
  if (data_format == "NCHW") return ImageFormat{0, 2, 3, 1};
  return Unimplemented("data_format ", data_format, " is not supported: use NHWC or NCHW");
}

StatusOr<Padding> ParsePadding(const std::string& padding) {
  if (padding == "VALID") return Padding::kValid;
  if (padding == "SAME") return Padding::kSame;
  if (padding == "EXPLICIT") return Padding::kExplicit;
  return InvalidArgument("padding must be VALID, SAME or EXPLICIT but is ", padding);
}

Status ResolveWindow(Padding padding, WindowDim* window) {
  WindowDim& w = *window;
  CARILLON_RETURN_IF_ERROR(CheckPositive("a stride", w.stride));
  CARILLON_RETURN_IF_ERROR(CheckPositive("a dilation", w.dilation));
  w.output = -1;
  if (padding == Padding::kSame && w.input >= 0) {
    if (w.input > kMaxSize) return InvalidArgument("an image side of ", w.input, " is too large");
    w.output = (w.input + w.stride - 1) / w.stride;
  }
  if (w.input < 0 || w.size < 0) return absl::OkStatus();
  CARILLON_RETURN_IF_ERROR(CheckPositive("a window", w.size));
  if (w.input > kMaxSize || w.pad_before > kMaxSize || w.pad_after > kMaxSize) {
    return InvalidArgument("an image side of ", w.input, " with ", w.pad_before, " and ",
                           w.pad_after, " of padding is too large");
  }
  if (w.size - 1 > kMaxSize / w.dilation) {
    return InvalidArgument("a window of ", w.size, " with dilation ", w.dilation, " is too large");
  }
  const int64_t reach = (w.size - 1) * w.dilation + 1;
  if (padding == Padding::kSame) {
    const int64_t missing = std::max<int64_t>(0, (w.output - 1) * w.stride + reach - w.input);
    w.pad_before = missing / 2;
    w.pad_after = missing - w.pad_before;
    return absl::OkStatus();
  }
  if (padding == Padding::kValid) w.pad_before = w.pad_after = 0;
  const int64_t padded = w.input + w.pad_before + w.pad_after;
  if (padded < reach) {
    return InvalidArgument("a window that reaches over ", reach,
                           " positions does not fit an image side of ", padded);
  }
  w.output = (padded - reach) / w.stride + 1;
  return absl::OkStatus();
}

StatusOr<WindowAttrs> WindowAttrs::Read(const Node& node) {
  WindowAttrs result;
  const AttrValue* data_format = node.FindAttr("data_format");
  if (data_format != nullptr) {
    CARILLON_ASSIGN_OR_RETURN(result.format,
                              ImageFormat::Parse(node.attr<std::string>("data_format")));
  }
  CARILLON_ASSIGN_OR_RETURN(result.padding, ParsePadding(node.attr<std::string>("padding")));
  const ImageFormat& format = result.format;
  const auto at = [](const std::vector<int64_t>& values, int i) {
    return values[static_cast<size_t>(i)];
  };

  using Ints = std::vector<int64_t>;
  const Ints ones = {1, 1, 1, 1};
  const Ints& strides = node.FindAttr("strides") != nullptr ? node.attr<Ints>("strides") : ones;
  const Ints& ksize = node.FindAttr("ksize") != nullptr ? node.attr<Ints>("ksize") : ones;
  CARILLON_RETURN_IF_ERROR(CheckFour("strides", strides));
  CARILLON_RETURN_IF_ERROR(CheckFour("ksize", ksize));
  CARILLON_RETURN_IF_ERROR(result.SetWindow(ksize, strides));

  if (node.FindAttr("dilations") != nullptr) {
    const Ints& dilations = node.attr<Ints>("dilations");
    CARILLON_RETURN_IF_ERROR(CheckFour("dilations", dilations));
    for (int64_t dilation : dilations)
      CARILLON_RETURN_IF_ERROR(CheckPositive("a dilation", dilation));
    result.dilations = {at(dilations, format.height), at(dilations, format.width)};
    if (at(dilations, format.batch) != 1 || at(dilations, format.channels) != 1)
      return InvalidArgument("dilations must be 1 over the batch and the channels");
  }

  if (node.FindAttr("explicit_paddings") != nullptr) {
    const Ints& pads = node.attr<Ints>("explicit_paddings");
    if (result.padding != Padding::kExplicit) {
      if (!pads.empty())
        return InvalidArgument("explicit_paddings must be empty unless padding is EXPLICIT");
      return result;
    }
    if (pads.size() != 8) {
      return InvalidArgument("explicit_paddings must have 8 values but has ", pads.size());
    }
    for (int64_t pad : pads) {
      if (pad < 0 || pad > kMaxSize)
        return InvalidArgument("explicit_paddings must be between 0 and ", kMaxSize, " but has ",
                               pad);
    }
    for (int dim : {format.batch, format.channels}) {
      if (at(pads, 2 * dim) != 0 || at(pads, 2 * dim + 1) != 0)
        return InvalidArgument("explicit_paddings must be 0 over the batch and the channels");
    }
    result.explicit_pads = {at(pads, 2 * format.height), at(pads, 2 * format.height + 1),
                            at(pads, 2 * format.width), at(pads, 2 * format.width + 1)};
  }
  return result;
}

Status WindowAttrs::SetWindow(std::span<const int64_t> new_ksize,
                              std::span<const int64_t> new_strides) {
  CARILLON_RETURN_IF_ERROR(CheckFour("strides", new_strides));
  CARILLON_RETURN_IF_ERROR(CheckFour("ksize", new_ksize));
  for (int64_t stride : new_strides) CARILLON_RETURN_IF_ERROR(CheckPositive("a stride", stride));
  for (int64_t size : new_ksize) CARILLON_RETURN_IF_ERROR(CheckPositive("ksize", size));
  const auto at = [](std::span<const int64_t> values, int i) {
    return values[static_cast<size_t>(i)];
  };
  strides = {at(new_strides, format.height), at(new_strides, format.width)};
  ksize = {at(new_ksize, format.height), at(new_ksize, format.width)};
  depth_window = at(new_ksize, format.channels);
  depth_stride = at(new_strides, format.channels);
  spatial_only = at(new_strides, format.batch) == 1 && at(new_ksize, format.batch) == 1 &&
                 depth_window == 1 && depth_stride == 1;
  return absl::OkStatus();
}

Status WindowAttrs::RequireSpatial() const {
  if (spatial_only) return absl::OkStatus();
  return Unimplemented("windows and strides must be 1 over the batch and the channels");
}

StatusOr<WindowDim> WindowAttrs::Dim(int which, int64_t input, int64_t size) const {
  const auto i = static_cast<size_t>(which);
  WindowDim window;
  window.input = input;
  window.size = size;
  window.stride = strides[i];
  window.dilation = dilations[i];
  window.pad_before = explicit_pads[2 * i];
  window.pad_after = explicit_pads[2 * i + 1];
  CARILLON_RETURN_IF_ERROR(ResolveWindow(padding, &window));
  return window;
}

Shape ConvGeometry::InputShape() const {
  return ImageShape(format, batch, in_channels, height.input, width.input);
}

Shape ConvGeometry::FilterShape() const {
  return Shape{height.size, width.size, filter_in_channels(), out_channels};
}

Shape ConvGeometry::OutputShape() const {
  return ImageShape(format, batch, out_channels, height.output, width.output);
}

StatusOr<ConvGeometry> MakeConvGeometry(const WindowAttrs& attrs, const Shape& input,
                                        const Shape& filter) {
  CARILLON_RETURN_IF_ERROR(CheckRank("input", input, 4));
  CARILLON_RETURN_IF_ERROR(CheckRank("filter", filter, 4));
  CARILLON_RETURN_IF_ERROR(attrs.RequireSpatial());
  ConvGeometry g;
  g.format = attrs.format;
  g.batch = input.dim(g.format.batch);
  g.in_channels = input.dim(g.format.channels);
  g.out_channels = filter.dim(3);
  if (filter.dim(2) == 0) return InvalidArgument("the filter has no input channels");
  if (g.in_channels % filter.dim(2) != 0) {
    return InvalidArgument("the input's ", g.in_channels,
                           " channels are not a multiple of the filter's ", filter.dim(2));
  }
  g.groups = g.in_channels / filter.dim(2);
  if (g.groups == 0) return InvalidArgument("the input has no channels");
  if (g.out_channels % g.groups != 0) {
    return InvalidArgument("the filter's ", g.out_channels,
                           " output channels are not a multiple of the ", g.groups, " groups");
  }
  CARILLON_ASSIGN_OR_RETURN(g.height, attrs.Height(input.dim(g.format.height), filter.dim(0)));
  CARILLON_ASSIGN_OR_RETURN(g.width, attrs.Width(input.dim(g.format.width), filter.dim(1)));
  CARILLON_RETURN_IF_ERROR(CheckImage(g.batch, g.in_channels, g.height.input, g.width.input));
  CARILLON_RETURN_IF_ERROR(CheckImage(g.batch, g.out_channels, g.height.output, g.width.output));
  return g;
}

StatusOr<ConvGeometry> MakeDepthwiseGeometry(const WindowAttrs& attrs, const Shape& input,
                                             const Shape& filter) {
  CARILLON_RETURN_IF_ERROR(CheckRank("input", input, 4));
  CARILLON_RETURN_IF_ERROR(CheckRank("filter", filter, 4));
  CARILLON_RETURN_IF_ERROR(attrs.RequireSpatial());
  ConvGeometry g;
  g.format = attrs.format;
  g.batch = input.dim(g.format.batch);
  g.in_channels = input.dim(g.format.channels);
  if (g.in_channels != filter.dim(2)) {
    return InvalidArgument("the input has ", g.in_channels, " channels but the filter ",
                           filter.dim(2));
  }
  g.groups = g.in_channels;
  if (filter.dim(3) > 0 && g.in_channels > kMaxSize / filter.dim(3)) {
    return InvalidArgument("a multiplier of ", filter.dim(3), " is too large");
  }
  g.out_channels = g.in_channels * filter.dim(3);
  CARILLON_ASSIGN_OR_RETURN(g.height, attrs.Height(input.dim(g.format.height), filter.dim(0)));
  CARILLON_ASSIGN_OR_RETURN(g.width, attrs.Width(input.dim(g.format.width), filter.dim(1)));
  CARILLON_RETURN_IF_ERROR(CheckImage(g.batch, g.in_channels, g.height.input, g.width.input));
  CARILLON_RETURN_IF_ERROR(CheckImage(g.batch, g.out_channels, g.height.output, g.width.output));
  return g;
}

Shape PoolGeometry::InputShape() const {
  return ImageShape(format, batch, channels, height.input, width.input);
}

Shape PoolGeometry::OutputShape() const {
  return ImageShape(format, batch, channels, height.output, width.output);
}

StatusOr<PoolGeometry> MakePoolGeometry(const WindowAttrs& attrs, const Shape& input) {
  CARILLON_RETURN_IF_ERROR(CheckRank("input", input, 4));
  CARILLON_RETURN_IF_ERROR(attrs.RequireSpatial());
  PoolGeometry g;
  g.format = attrs.format;
  g.batch = input.dim(g.format.batch);
  g.channels = input.dim(g.format.channels);
  CARILLON_ASSIGN_OR_RETURN(g.height, attrs.Height(input.dim(g.format.height), attrs.ksize[0]));
  CARILLON_ASSIGN_OR_RETURN(g.width, attrs.Width(input.dim(g.format.width), attrs.ksize[1]));
  for (const WindowDim* dim : {&g.height, &g.width}) {
    if (attrs.padding == Padding::kExplicit &&
        (dim->pad_before >= dim->size || dim->pad_after >= dim->size)) {
      return InvalidArgument("explicit padding of ", dim->pad_before, " and ", dim->pad_after,
                             " is not smaller than the window of ", dim->size,
                             ": some windows would lie in the padding alone");
    }
  }
  CARILLON_RETURN_IF_ERROR(CheckImage(g.batch, g.channels, g.height.input, g.width.input));
  CARILLON_RETURN_IF_ERROR(CheckImage(g.batch, g.channels, g.height.output, g.width.output));
  return g;
}

}  // namespace carillon
