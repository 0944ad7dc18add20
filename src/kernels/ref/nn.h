// The files that together make the reference kernels of the nn family, and what they share.
#pragma once

#include <cstdint>
#include <type_traits>

#include "graph/window.h"
#include "kernels/kernel.h"

namespace carillon {

void AddConvReferenceKernels(KernelTable& table);
void AddDepthwiseConvReferenceKernels(KernelTable& table);
void AddMaxPoolReferenceKernels(KernelTable& table);
void AddAvgPoolReferenceKernels(KernelTable& table);
void AddBiasReferenceKernels(KernelTable& table);
void AddActivationReferenceKernels(KernelTable& table);
void AddSoftmaxReferenceKernels(KernelTable& table);
void AddLrnReferenceKernels(KernelTable& table);
void AddBatchNormReferenceKernels(KernelTable& table);
void AddFusedMatMulReferenceKernels(KernelTable& table);

// In which sums are formed: the 16-bit floats are storage only.
template <typename T>
using Accumulator =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>, float, T>;

// sum + a * b. Integers wrap around, as hardware does, without undefined behaviour.
template <typename A>
A MultiplyAdd(A sum, A a, A b) {
  if constexpr (std::is_integral_v<A>) {
    using U = std::conditional_t<sizeof(A) < 8, uint32_t, uint64_t>;
    return static_cast<A>(static_cast<U>(sum) + static_cast<U>(a) * static_cast<U>(b));
  } else {
    return sum + a * b;
  }
}

// Items of `work` elementary operations each are shared among threads in pieces of this many.
inline int64_t GrainFor(double work) {
  return work >= 32768 ? 1 : static_cast<int64_t>(32768 / (work < 1 ? 1 : work));
}

// How far apart neighbours lie in a row-major batch of images.
struct ImageStrides {
  int64_t batch, height, width, channels;
  ImageStrides(const ImageFormat& format, int64_t image_height, int64_t image_width,
               int64_t image_channels) {
    batch = image_height * image_width * image_channels;
    if (format.channels_last()) {
      channels = 1;
      width = image_channels;
      height = image_width * image_channels;
    } else {
      width = 1;
      height = image_width;
      channels = image_height * image_width;
    }
  }
};

// The part [begin, end) of a window of taps that lies inside the image when it starts at `start`.
struct TapRange {
  int64_t begin, end;
  TapRange(const WindowDim& window, int64_t start) {
    begin = start >= 0 ? 0 : (-start + window.dilation - 1) / window.dilation;
    const int64_t last = window.input - 1 - start;
    end = last < 0 ? 0 : last / window.dilation + 1;
    if (end > window.size) end = window.size;
    if (begin > end) begin = end;
  }
};

// The dtype is not one that the op's reference kernel takes.
inline Status NoSuchType(const Node& node, DType dtype) {
  return Unimplemented("no kernel of ", node.op(), " for ", DTypeName(dtype));
}

// The four sizes in an int32 vector that a caller gave. InvalidArgument when they are no shape.
StatusOr<Shape> ShapeFromSizes(const Tensor& sizes, int rank);

}  // namespace carillon
