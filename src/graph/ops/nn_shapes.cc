#include "graph/ops/nn_shapes.h"

#include <algorithm>
#include <array>
#include <string>

#include "graph/window.h"

namespace carillon {
namespace {

PartialShape Image(const ImageFormat& format, int64_t batch, int64_t channels, int64_t height,
                   int64_t width) {
  PartialShape shape = PartialShape::UnknownOfRank(4);
  shape.set_dim(format.batch, batch);
  shape.set_dim(format.channels, channels);
  shape.set_dim(format.height, height);
  shape.set_dim(format.width, width);
  return shape;
}

// The constant elements of input i as int64, when it is a constant int32 or int64 vector.
std::optional<std::vector<int64_t>> ConstantInts(const ShapeContext& c, int i) {
  const Tensor* value = c.input_value(i);
  if (value == nullptr || value->rank() != 1) return std::nullopt;
  std::vector<int64_t> ints;
  if (value->dtype() == DType::kInt32) {
    for (int32_t v : value->values<int32_t>()) ints.push_back(v);
  } else if (value->dtype() == DType::kInt64) {
    for (int64_t v : value->values<int64_t>()) ints.push_back(v);
  } else {
    return std::nullopt;
  }
  return ints;
}

// What is known of a tensor whose four sizes are the elements of input i.
StatusOr<PartialShape> ImageFromSizes(const ShapeContext& c, int i) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape vector, c.WithRank(i, 1));
  if (vector.dim(0) >= 0 && vector.dim(0) != 4)
    return InvalidArgument("input ", i, " must hold 4 sizes but has ", vector.dim(0));
  if (std::optional<std::vector<int64_t>> ints = ConstantInts(c, i)) {
    for (int64_t size : *ints) {
      if (size < 0) return InvalidArgument("input ", i, " holds a negative size, ", size);
    }
  }
  if (std::optional<PartialShape> sizes = c.input_as_sizes(i); sizes && sizes->rank() == 4)
    return *sizes;
  return PartialShape::UnknownOfRank(4);
}

StatusOr<PartialShape> ConvOutput(const WindowAttrs& attrs, const PartialShape& input,
                                  const PartialShape& filter, int64_t out_channels) {
  const ImageFormat& f = attrs.format;
  CARILLON_ASSIGN_OR_RETURN(WindowDim h, attrs.Height(input.dim(f.height), filter.dim(0)));
  CARILLON_ASSIGN_OR_RETURN(WindowDim w, attrs.Width(input.dim(f.width), filter.dim(1)));
  return Image(f, input.dim(f.batch), out_channels, h.output, w.output);
}

}  // namespace

Status Conv2DShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(c.node()));
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, c.WithRank(0, 4));
  CARILLON_ASSIGN_OR_RETURN(PartialShape filter, c.WithRank(1, 4));
  const int64_t in = input.dim(attrs.format.channels);
  const int64_t filter_in = filter.dim(2);
  const int64_t out = filter.dim(3);
  if (filter_in == 0) return InvalidArgument("the filter has no input channels");
  if (in > 0 && filter_in > 0) {
    if (in % filter_in != 0)
      return InvalidArgument("the input's ", in, " channels are not a multiple of the filter's ",
                             filter_in);
    if (out > 0 && out % (in / filter_in) != 0)
      return InvalidArgument("the filter's ", out, " output channels are not a multiple of the ",
                             in / filter_in, " groups");
  }
  CARILLON_ASSIGN_OR_RETURN(PartialShape output, ConvOutput(attrs, input, filter, out));
  c.set_output(0, output);
  return absl::OkStatus();
}

Status Conv2DBackpropInputShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(c.node()));
  const ImageFormat& f = attrs.format;
  CARILLON_ASSIGN_OR_RETURN(PartialShape filter, c.WithRank(1, 4));
  CARILLON_ASSIGN_OR_RETURN(PartialShape grad, c.WithRank(2, 4));
  CARILLON_RETURN_IF_ERROR(MergeDim(grad.dim(f.channels), filter.dim(3)).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape sizes, c.WithRank(0, 1));
  PartialShape input;
  if (sizes.dim(0) == 2) {  // height and width only
    const std::optional<PartialShape> sides = c.input_as_sizes(0);
    input = Image(f, -1, filter.dim(2), sides ? sides->dim(0) : -1, sides ? sides->dim(1) : -1);
  } else {
    CARILLON_ASSIGN_OR_RETURN(input, ImageFromSizes(c, 0));
  }
  CARILLON_ASSIGN_OR_RETURN(int64_t batch, MergeDim(input.dim(f.batch), grad.dim(f.batch)));
  input.set_dim(f.batch, batch);
  c.set_output(0, input);
  return absl::OkStatus();
}

Status Conv2DBackpropFilterShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(WindowAttrs::Read(c.node()).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 4).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 4).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape filter, ImageFromSizes(c, 1));
  c.set_output(0, filter);
  return absl::OkStatus();
}

Status DepthwiseConv2dShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(c.node()));
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, c.WithRank(0, 4));
  CARILLON_ASSIGN_OR_RETURN(PartialShape filter, c.WithRank(1, 4));
  CARILLON_ASSIGN_OR_RETURN(int64_t channels,
                            MergeDim(input.dim(attrs.format.channels), filter.dim(2)));
  int64_t out = -1;
  if (channels >= 0 && filter.dim(3) >= 0 &&
      __builtin_mul_overflow(channels, filter.dim(3), &out)) {
    return InvalidArgument(channels, " channels times a multiplier of ", filter.dim(3),
                           " are too many");
  }
  CARILLON_ASSIGN_OR_RETURN(PartialShape output, ConvOutput(attrs, input, filter, out));
  c.set_output(0, output);
  return absl::OkStatus();
}

Status DepthwiseConv2dBackpropInputShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(WindowAttrs::Read(c.node()).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 4).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 4).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, ImageFromSizes(c, 0));
  c.set_output(0, input);
  return absl::OkStatus();
}

Status DepthwiseConv2dBackpropFilterShape(ShapeContext& c) { return Conv2DBackpropFilterShape(c); }

namespace {

StatusOr<PartialShape> Pooled(const WindowAttrs& attrs, const PartialShape& input) {
  const ImageFormat& f = attrs.format;
  CARILLON_ASSIGN_OR_RETURN(WindowDim h, attrs.Height(input.dim(f.height), attrs.ksize[0]));
  CARILLON_ASSIGN_OR_RETURN(WindowDim w, attrs.Width(input.dim(f.width), attrs.ksize[1]));
  int64_t channels = input.dim(f.channels);
  if (attrs.depth_window != 1 || attrs.depth_stride != 1) {
    WindowDim depth;
    depth.input = channels;
    depth.size = attrs.depth_window;
    depth.stride = attrs.depth_stride;
    CARILLON_RETURN_IF_ERROR(ResolveWindow(
        attrs.padding == Padding::kExplicit ? Padding::kValid : attrs.padding, &depth));
    channels = depth.output;
  }
  return Image(f, input.dim(f.batch), channels, h.output, w.output);
}

}  // namespace

Status PoolShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(c.node()));
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, c.WithRank(0, 4));
  CARILLON_ASSIGN_OR_RETURN(PartialShape output, Pooled(attrs, input));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, output);
  return absl::OkStatus();
}

Status PoolV2Shape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(c.node()));
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, c.WithRank(0, 4));
  for (int i : {1, 2}) {
    CARILLON_ASSIGN_OR_RETURN(PartialShape vector, c.WithRank(i, 1));
    CARILLON_RETURN_IF_ERROR(MergeDim(vector.dim(0), 4).status());
  }
  const std::optional<std::vector<int64_t>> ksize = ConstantInts(c, 1);
  const std::optional<std::vector<int64_t>> strides = ConstantInts(c, 2);
  if (!ksize || !strides) {
    c.set_output(0, PartialShape::UnknownOfRank(4));
    return absl::OkStatus();
  }
  CARILLON_RETURN_IF_ERROR(attrs.SetWindow(*ksize, *strides));
  CARILLON_ASSIGN_OR_RETURN(PartialShape output, Pooled(attrs, input));
  c.set_output(0, output);
  return absl::OkStatus();
}

Status MaxPoolGradShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(WindowAttrs::Read(c.node()).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, c.WithRank(0, 4));
  c.set_output(0, input);
  return absl::OkStatus();
}

Status MaxPoolGradGradShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(c.node()));
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, c.WithRank(0, 4));
  CARILLON_ASSIGN_OR_RETURN(PartialShape orig_output, c.WithRank(1, 4));
  CARILLON_ASSIGN_OR_RETURN(input, MergeShapes(input, c.input(2)));
  CARILLON_ASSIGN_OR_RETURN(PartialShape output, Pooled(attrs, input));
  CARILLON_ASSIGN_OR_RETURN(output, MergeShapes(orig_output, output));
  c.set_output(0, output);
  return absl::OkStatus();
}

Status MaxPoolGradWithArgmaxShape(ShapeContext& c) { return MaxPoolGradShape(c); }

Status AvgPoolGradShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(WindowAttrs::Read(c.node()).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 4).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape input, ImageFromSizes(c, 0));
  c.set_output(0, input);
  return absl::OkStatus();
}

namespace {

// Where the channels are: the last dimension, or the second with NCHW.
StatusOr<int> BiasAxis(const ShapeContext& c, int value) {
  const bool second =
      c.node().FindAttr("data_format") != nullptr && c.attr<std::string>("data_format") == "NCHW";
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, c.WithRankAtLeast(value, second ? 3 : 2));
  if (second) return 1;
  return shape.has_rank() ? shape.rank() - 1 : -1;
}

}  // namespace

Status BiasAddShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(int axis, BiasAxis(c, 0));
  CARILLON_ASSIGN_OR_RETURN(PartialShape bias, c.WithRank(1, 1));
  PartialShape output = c.input(0);
  if (output.has_rank()) {
    CARILLON_ASSIGN_OR_RETURN(int64_t channels, MergeDim(output.dim(axis), bias.dim(0)));
    output.set_dim(axis, channels);
  }
  c.set_output(0, output);
  return absl::OkStatus();
}

Status BiasAddGradShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(int axis, BiasAxis(c, 0));
  const PartialShape value = c.input(0);
  c.set_output(0, PartialShape{value.has_rank() ? value.dim(axis) : -1});
  return absl::OkStatus();
}

Status SoftmaxShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape logits, c.WithRankAtLeast(0, 1));
  c.set_output(0, logits);
  return absl::OkStatus();
}

Status SoftmaxCrossEntropyShape(ShapeContext& c) {
  const PartialShape features = c.input(0);
  const PartialShape labels = c.input(1);
  PartialShape both = PartialShape::UnknownOfRank(2);
  if (features.has_rank() != labels.has_rank()) {
    // What is known of one holds for both, but for sizes of 1, along which it may be repeated.
    const PartialShape& known = features.has_rank() ? features : labels;
    for (int i = 0; i < std::min(2, known.rank()); ++i) {
      const int64_t size = known.dim(known.rank() - 1 - i);
      if (size != 1) both.set_dim(1 - i, size);
    }
  } else if (features.has_rank()) {
    CARILLON_ASSIGN_OR_RETURN(both, BroadcastShapes(features, labels));
    if (both.rank() != 2) {
      return InvalidArgument("features and labels must be matrices or broadcast to one but are ",
                             features.ToString(), " and ", labels.ToString());
    }
  }
  c.set_output(0, PartialShape{both.dim(0)});
  c.set_output(1, both);
  return absl::OkStatus();
}

Status SparseSoftmaxCrossEntropyShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape features, c.WithRank(0, 2));
  CARILLON_ASSIGN_OR_RETURN(PartialShape labels, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(int64_t batch, MergeDim(features.dim(0), labels.dim(0)));
  c.set_output(0, PartialShape{batch});
  c.set_output(1, PartialShape{batch, features.dim(1)});
  return absl::OkStatus();
}

Status LrnShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape image, c.WithRank(0, 4));
  c.set_output(0, image);
  return absl::OkStatus();
}

Status LrnGradShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape image, c.WithRank(0, 4));
  CARILLON_ASSIGN_OR_RETURN(image, MergeShapes(image, c.input(1)));
  CARILLON_ASSIGN_OR_RETURN(image, MergeShapes(image, c.input(2)));
  c.set_output(0, image);
  return absl::OkStatus();
}

namespace {

struct BatchNormFormat {
  int rank;
  int channels;
};

BatchNormFormat ReadBatchNormFormat(const ShapeContext& c) {
  const std::string& format = c.attr<std::string>("data_format");
  const int rank = static_cast<int>(format.size());
  return {rank, format[1] == 'C' ? 1 : rank - 1};
}

// The channels that input `image` and the vectors agree on.
StatusOr<int64_t> BatchNormChannels(const ShapeContext& c, const PartialShape& image,
                                    const BatchNormFormat& format, std::span<const int> vectors) {
  int64_t channels = image.dim(format.channels);
  for (int i : vectors) {
    CARILLON_ASSIGN_OR_RETURN(PartialShape vector, c.WithRank(i, 1));
    const StatusOr<int64_t> merged = MergeDim(channels, vector.dim(0));
    if (!merged.ok())
      return InvalidArgument("input ", i, " should have ", channels, " channels but is ",
                             vector.ToString());
    channels = *merged;
  }
  return channels;
}

}  // namespace

Status FusedBatchNormShape(ShapeContext& c) {
  const BatchNormFormat format = ReadBatchNormFormat(c);
  CARILLON_ASSIGN_OR_RETURN(PartialShape x, c.WithRank(0, format.rank));
  // In training the given mean and variance are only read for a running average.
  const bool reads_statistics =
      !c.attr<bool>("is_training") || c.attr<float>("exponential_avg_factor") != 1.0f;
  constexpr std::array<int, 4> kVectors = {1, 2, 3, 4};
  CARILLON_ASSIGN_OR_RETURN(
      int64_t channels,
      BatchNormChannels(c, x, format, std::span(kVectors).first(reads_statistics ? 4 : 2)));
  for (int i : {3, 4}) CARILLON_RETURN_IF_ERROR(c.WithRank(i, 1).status());
  x.set_dim(format.channels, channels);
  c.set_output(0, x);
  for (int i = 1; i < 5; ++i) c.set_output(i, PartialShape{channels});
  if (c.num_outputs() > 5) c.set_output(5, PartialShape(Shape{}));
  return absl::OkStatus();
}

Status FusedBatchNormGradShape(ShapeContext& c) {
  const BatchNormFormat format = ReadBatchNormFormat(c);
  CARILLON_ASSIGN_OR_RETURN(PartialShape grad, c.WithRank(0, format.rank));
  CARILLON_ASSIGN_OR_RETURN(PartialShape x, c.WithRank(1, format.rank));
  CARILLON_ASSIGN_OR_RETURN(x, MergeShapes(grad, x));
  constexpr std::array<int, 3> kVectors = {2, 3, 4};
  CARILLON_ASSIGN_OR_RETURN(int64_t channels, BatchNormChannels(c, x, format, kVectors));
  x.set_dim(format.channels, channels);
  c.set_output(0, x);
  c.set_output(1, PartialShape{channels});
  c.set_output(2, PartialShape{channels});
  c.set_output(3, PartialShape{0});
  c.set_output(4, PartialShape{0});
  return absl::OkStatus();
}

}  // namespace carillon
