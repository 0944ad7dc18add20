// How filters and pooling windows slide over images: the arithmetic that shape functions and
// kernels share.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "carillon/shape.h"

namespace carillon {

class Node;

// Where the dimensions of an image batch stand, by its data_format.
struct ImageFormat {
  int batch = 0, height = 1, width = 2, channels = 3;
  bool channels_last() const { return channels == 3; }
  // "NHWC" or "NCHW"; Unimplemented for any other.
  static StatusOr<ImageFormat> Parse(const std::string& data_format);
};

enum class Padding { kValid, kSame, kExplicit };
StatusOr<Padding> ParsePadding(const std::string& padding);

// One dimension under a sliding window. Sizes of -1 are unknown.
struct WindowDim {
  int64_t input = 0;
  int64_t size = 1;  // taps of the window
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  int64_t pad_after = 0;
  int64_t output = 0;

  // The first input position under the window at output position `out`; may be negative.
  int64_t Start(int64_t out) const { return out * stride - pad_before; }
};

// Fills in output and, unless the padding is explicit, the pads. InvalidArgument when the window
// does not fit or a size is out of range.
Status ResolveWindow(Padding padding, WindowDim* window);

// The attributes of an op with windows over height and width: strides, padding, and where the op
// has them explicit_paddings, dilations, ksize.
struct WindowAttrs {
  ImageFormat format;
  Padding padding = Padding::kValid;
  std::array<int64_t, 2> strides = {1, 1};  // height, width
  std::array<int64_t, 2> dilations = {1, 1};
  std::array<int64_t, 4> explicit_pads = {0, 0, 0, 0};  // top, bottom, left, right
  std::array<int64_t, 2> ksize = {1, 1};
  // Along the two other dimensions. Ops that want 1 there check with RequireSpatial.
  bool spatial_only = true;
  // Pooling over the channels alone, which MaxPool allows.
  int64_t depth_window = 1;
  int64_t depth_stride = 1;

  // Reads and checks the attributes of `node`. InvalidArgument names the attribute.
  static StatusOr<WindowAttrs> Read(const Node& node);
  // For ops that take ksize and strides as inputs: four values each.
  Status SetWindow(std::span<const int64_t> ksize, std::span<const int64_t> strides);
  // Unimplemented when a stride or window reaches over batch or channels.
  Status RequireSpatial() const;

  StatusOr<WindowDim> Height(int64_t input, int64_t size) const { return Dim(0, input, size); }
  StatusOr<WindowDim> Width(int64_t input, int64_t size) const { return Dim(1, input, size); }

 private:
  StatusOr<WindowDim> Dim(int which, int64_t input, int64_t size) const;
};

// A convolution with all sizes known, as kernels see it.
struct ConvGeometry {
  ImageFormat format;
  int64_t batch = 0, in_channels = 0, out_channels = 0, groups = 1;
  WindowDim height, width;

  int64_t filter_in_channels() const { return in_channels / groups; }
  Shape InputShape() const;
  Shape FilterShape() const;  // height, width, in_channels / groups, out_channels
  Shape OutputShape() const;
};

// InvalidArgument when the shapes do not go together.
StatusOr<ConvGeometry> MakeConvGeometry(const WindowAttrs& attrs, const Shape& input,
                                        const Shape& filter);
// The same for depthwise convolutions, whose filters are [height, width, channels, multiplier]:
// groups is the number of channels.
StatusOr<ConvGeometry> MakeDepthwiseGeometry(const WindowAttrs& attrs, const Shape& input,
                                             const Shape& filter);

// Pooling over height and width (depth_window 1), all sizes known.
struct PoolGeometry {
  ImageFormat format;
  int64_t batch = 0, channels = 0;
  WindowDim height, width;

  Shape InputShape() const;
  Shape OutputShape() const;
};
StatusOr<PoolGeometry> MakePoolGeometry(const WindowAttrs& attrs, const Shape& input);

}  // namespace carillon
