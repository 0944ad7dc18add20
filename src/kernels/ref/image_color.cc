// Colours: contrast, hue, saturation, and the conversions between RGB and HSV.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/image_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

struct Rgb {
  double r, g, b;
};
struct Hsv {
  double h, s, v;  // all from 0 to 1
};

template <typename F>
Hsv ToHsv(F r, F g, F b) {
  const F v = std::max({r, g, b}), range = v - std::min({r, g, b});
  const F s = v > 0 ? range / v : F(0);
  const F unit = F(1) / (F(6) * range);
  F h = r == v   ? unit * (g - b)
        : g == v ? unit * (b - r) + F(2) / F(6)
                 : unit * (r - g) + F(4) / F(6);
  if (!(range > 0)) h = 0;
  if (h < 0) h += 1;
  return {h, s, v};
}

template <typename F>
Rgb ToRgb(F h, F s, F v) {
  const F turn = h * 6;
  const auto part = [&](F wheel) { return ((1 - s) + s * std::clamp(wheel, F(0), F(1))) * v; };
  return {part(std::abs(turn - 3) - 1), part(2 - std::abs(turn - 2)), part(2 - std::abs(turn - 4))};
}

Status CheckColors(const Tensor& in) {
  if (in.rank() > 0 && in.dim(in.rank() - 1) == 3) return absl::OkStatus();
  return InvalidArgument("the last dimension should hold 3 colours but the shape is ",
                         in.shape().ToString());
}

// Calls pixel(in, out) for every pixel of three values.
template <typename T, typename Pixel>
void ForEachPixel(const Tensor& in, Tensor* out, Pixel&& pixel) {
  ParallelFor(in.num_elements() / 3, 4 << 10, [&](int64_t begin, int64_t end) {
    const T* from = in.data<T>() + 3 * begin;
    T* to = out->mutable_data<T>() + 3 * begin;
    for (int64_t i = begin; i < end; ++i, from += 3, to += 3) pixel(from, to);
  });
}

// double stays double, the others are computed in float.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <bool to_hsv>
Status RunConvert(KernelContext& context) {
  const Tensor& in = context.input(0);
  CARILLON_RETURN_IF_ERROR(CheckColors(in));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, in.shape()));
  DispatchFloating(in.dtype(), [&]<typename T>() {
    using F = Wide<T>;
    ForEachPixel<T>(in, out, [](const T* from, T* to) {
      const F a(from[0]), b(from[1]), c(from[2]);
      if constexpr (to_hsv) {
        const Hsv hsv = ToHsv<F>(a, b, c);
        to[0] = static_cast<T>(static_cast<F>(hsv.h));
        to[1] = static_cast<T>(static_cast<F>(hsv.s));
        to[2] = static_cast<T>(static_cast<F>(hsv.v));
      } else {
        const Rgb rgb = ToRgb<F>(a, b, c);
        to[0] = static_cast<T>(static_cast<F>(rgb.r));
        to[1] = static_cast<T>(static_cast<F>(rgb.g));
        to[2] = static_cast<T>(static_cast<F>(rgb.b));
      }
    });
  });
  return absl::OkStatus();
}

// AdjustHue, AdjustSaturation: adjust(hsv, amount) changes one pixel.
template <void (*adjust)(Hsv* hsv, float amount)>
Status RunAdjust(KernelContext& context) {
  const Tensor &in = context.input(0), &amount = context.input(1);
  if (in.rank() < 3) {
    return InvalidArgument("pictures should have at least 3 dimensions but have shape ",
                           in.shape().ToString());
  }
  CARILLON_RETURN_IF_ERROR(CheckColors(in));
  if (amount.rank() != 0) {
    return InvalidArgument("the amount should be a scalar but has shape ",
                           amount.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, in.shape()));
  const float by = amount.scalar<float>();
  DispatchFloating(in.dtype(), [&]<typename T>() {
    ForEachPixel<T>(in, out, [by](const T* from, T* to) {
      Hsv hsv = ToHsv<float>(static_cast<float>(from[0]), static_cast<float>(from[1]),
                             static_cast<float>(from[2]));
      adjust(&hsv, by);
      const Rgb rgb = ToRgb<float>(static_cast<float>(hsv.h), static_cast<float>(hsv.s),
                                   static_cast<float>(hsv.v));
      to[0] = static_cast<T>(static_cast<float>(rgb.r));
      to[1] = static_cast<T>(static_cast<float>(rgb.g));
      to[2] = static_cast<T>(static_cast<float>(rgb.b));
    });
  });
  return absl::OkStatus();
}

void Turn(Hsv* hsv, float amount) {
  const double hue = hsv->h + amount;
  hsv->h = hue - std::floor(hue);
}
void Saturate(Hsv* hsv, float amount) { hsv->s = std::clamp(hsv->s * amount, 0.0, 1.0); }

// Each channel's distance from its mean over the picture is multiplied.
Status RunAdjustContrast(KernelContext& context) {
  const Tensor &in = context.input(0), &factor = context.input(1);
  if (in.rank() < 3) {
    return InvalidArgument("pictures should have at least 3 dimensions but have shape ",
                           in.shape().ToString());
  }
  if (factor.rank() != 0) {
    return InvalidArgument("contrast_factor should be a scalar but has shape ",
                           factor.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, in.shape()));
  if (in.num_elements() == 0) return absl::OkStatus();
  const int64_t channels = in.dim(in.rank() - 1);
  const int64_t pixels = in.dim(in.rank() - 2) * in.dim(in.rank() - 3);
  const int64_t images = in.num_elements() / (channels * pixels);
  const float by = factor.scalar<float>();
  DispatchFloating(in.dtype(), [&]<typename T>() {
    ParallelFor(images, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> means(static_cast<size_t>(channels));
      for (int64_t image = begin; image < end; ++image) {
        const T* from = in.data<T>() + image * pixels * channels;
        T* to = out->mutable_data<T>() + image * pixels * channels;
        std::fill(means.begin(), means.end(), 0.0);
        for (int64_t i = 0; i < pixels * channels; ++i) {
          means[static_cast<size_t>(i % channels)] += static_cast<double>(from[i]);
        }
        for (double& mean : means) mean /= static_cast<double>(pixels);
        for (int64_t i = 0; i < pixels * channels; ++i) {
          const auto mean = static_cast<float>(means[static_cast<size_t>(i % channels)]);
          to[i] = static_cast<T>((static_cast<float>(from[i]) - mean) * by + mean);
        }
      }
    });
  });
  return absl::OkStatus();
}

}  // namespace

void AddImageColorKernels(KernelTable& table) {
  table.Add({
      {"RGBToHSV", "ref", FromElementwise<RunConvert<true>>},
      {"HSVToRGB", "ref", FromElementwise<RunConvert<false>>},
      {"AdjustHue", "ref", FromElementwise<RunAdjust<Turn>>},
      {"AdjustSaturation", "ref", FromElementwise<RunAdjust<Saturate>>},
      {"AdjustContrastv2", "ref", FromElementwise<RunAdjustContrast>},
  });
}

}  // namespace carillon
