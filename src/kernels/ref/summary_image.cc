// ImageSummary: pictures for TensorBoard.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/foreign_memory.h"
#include "kernels/ref/summary_kernels.h"
#include "report/png_codec.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Brings the values of one picture to 0 … 255: the largest becomes 255, or, when there are negative
// values, 0 becomes 128. Pixels that are not finite get the colour `bad`.
template <typename T>
void ToBytes(const T* in, int64_t pixels, int channels, const uint8_t* bad, uint8_t* out) {
  float least = INFINITY, most = -INFINITY;
  const auto is_finite = [&](const T* pixel) {
    return std::all_of(pixel, pixel + channels,
                       [](T value) { return std::isfinite(static_cast<double>(value)); });
  };
  for (int64_t i = 0; i < pixels; ++i) {
    if (!is_finite(in + i * channels)) continue;
    for (int c = 0; c < channels; ++c) {
      const auto value = static_cast<float>(in[i * channels + c]);
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  constexpr float kZero = 1e-6f;
  const bool has_negative = least < 0;
  const float largest = has_negative ? std::max(std::abs(least), std::abs(most)) : most;
  const T scale(largest < kZero ? 0.0f : (has_negative ? 127.0f : 255.0f) / largest);
  const T offset(has_negative ? 128.0f : 0.0f);
  for (int64_t i = 0; i < pixels; ++i) {
    const bool finite = is_finite(in + i * channels);
    for (int c = 0; c < channels; ++c) {
      const int64_t at = i * channels + c;
      const T scaled(in[at] * scale);  // rounded in T, as TensorFlow does
      out[at] = finite ? static_cast<uint8_t>(T(scaled + offset)) : bad[c];
    }
  }
}

class ImageSummaryKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const Tensor& bad = request.attr<Tensor>("bad_color");
    if (bad.dtype() != DType::kUint8 || bad.rank() != 1) {
      return InvalidArgument("bad_color should be a vector of uint8 but is ", bad.ToString());
    }
    return std::make_unique<ImageSummaryKernel>(request);
  }
  explicit ImageSummaryKernel(const KernelRequest& request)
      : max_images_(request.attr<int64_t>("max_images")),
        bad_color_(request.attr<Tensor>("bad_color")) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const std::string tag, ScalarTag(context, 0));
    const Tensor& images = context.input(1);
    if (images.rank() != 4 || (images.dim(3) != 1 && images.dim(3) != 3 && images.dim(3) != 4)) {
      return InvalidArgument(
          "pictures should have 4 dimensions, the last of size 1, 3 or 4, but have shape ",
          images.shape().ToString());
    }
    const PngFormat format{.width = images.dim(2),
                           .height = images.dim(1),
                           .channels = static_cast<int>(images.dim(3))};
    if (images.dtype() != DType::kUint8 && format.channels > bad_color_.num_elements()) {
      return InvalidArgument("bad_color has ", bad_color_.num_elements(),
                             " channels, the pictures ", format.channels);
    }
    const ForeignWork work(BytesOfSummary(context));
    tensorflow::Summary summary;
    const int64_t count = std::min(max_images_, images.dim(0));
    const int64_t pixels = format.width * format.height;
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* source = nullptr;
      if (images.dtype() == DType::kUint8) {
        source = images.data<uint8_t>() + i * pixels * format.channels;
      } else {
        bytes.resize(static_cast<size_t>(pixels * format.channels));
        DispatchFloating(images.dtype(), [&]<typename T>() {
          ToBytes(images.data<T>() + i * pixels * format.channels, pixels, format.channels,
                  bad_color_.data<uint8_t>(), bytes.data());
        });
        source = bytes.data();
      }
      CARILLON_ASSIGN_OR_RETURN(std::string png, EncodePngPixels(format, source));
      tensorflow::Summary::Value* value = summary.add_value();
      value->set_tag(max_images_ > 1 ? StrCat(tag, "/image/", i) : StrCat(tag, "/image"));
      tensorflow::Summary::Image* image = value->mutable_image();
      image->set_height(static_cast<int32_t>(format.height));
      image->set_width(static_cast<int32_t>(format.width));
      image->set_colorspace(format.channels);
      image->set_encoded_image_string(std::move(png));
    }
    SetSummary(context, summary);
    return absl::OkStatus();
  }

 private:
  const int64_t max_images_;
  const Tensor bad_color_;
};

}  // namespace

void AddSummaryImageKernels(KernelTable& table) {
  table.Add({"ImageSummary", "ref", FromClass<ImageSummaryKernel>});
}

}  // namespace carillon
