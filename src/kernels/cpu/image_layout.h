// Layouts of image batches. A DnnlLayout describes a tensor under its own dimensions (NHWC stays
// NHWC); oneDNN's primitives want them in the order N, C, H, W. These functions go between the two.
//
// No layout of ours pads: channels that do not fill a block evenly stay row-major. So a tensor has
// the same number of bytes in every layout.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <optional>

#include "graph/window.h"
#include "kernels/cpu/dnnl_support.h"
#include "kernels/kernel.h"

namespace carillon {

// N, C, H, W of a batch of shape `shape`.
dnnl::memory::dims ImageDims(const Shape& shape, const ImageFormat& format);

// The description, dimensions in the order N, C, H, W, of a float batch that lies in `layout`.
dnnl::memory::desc ImageDesc(const Layout& layout, const Shape& shape, const ImageFormat& format);

// The inverse: null when `desc` is row-major under the tensor's own dimensions. nullopt when `desc`
// pads or is no plain blocking.
std::optional<Layout> ImageLayout(const dnnl::memory::desc& desc, const Shape& shape,
                                  const ImageFormat& format);

// The layout with channels in blocks of `block` (nChw16c): null when the channels do not divide.
Layout BlockedImageLayout(const Shape& shape, const ImageFormat& format, int64_t block);

// A batch seen as [batch][channels / block][height * width][block]: how it lies when channels are
// innermost (block = channels), blocked, or outermost (block = 1). Kernels that work on vectors of
// channels treat all three alike.
struct ChannelBlocks {
  int64_t batch = 0, blocks = 0, height = 0, width = 0, block = 0;
  int64_t channels() const { return blocks * block; }
  int64_t pixels() const { return height * width; }
  int64_t plane() const { return height * width * block; }  // elements of one channel block
};

// nullopt for any other layout.
std::optional<ChannelBlocks> ViewAsBlocks(const Layout& layout, const Shape& shape,
                                          const ImageFormat& format);

// Turns a value from one layout into another. Set as the reorder of the CPU's kernels.
KernelResult MakeCpuReorder(const ValueInfo& from, const Layout& to, const KernelOptions& options);

}  // namespace carillon
