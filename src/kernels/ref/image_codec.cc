// DecodePng, DecodeJpeg, DecodeBmp, DecodeImage, EncodePng, EncodeJpeg.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/ref/image_kernels.h"
#include "kernels/ref/jpeg_codec.h"
#include "report/png_codec.h"

namespace carillon {
namespace {

constexpr int64_t kMaxSide = int64_t{1} << 27, kMaxPixels = int64_t{1} << 29;

// The output for a picture, once its size is known.
StatusOr<Tensor*> AllocatePicture(KernelContext& context, int64_t height, int64_t width,
                                  int channels) {
  if (height < 1 || width < 1 || height >= kMaxSide || width >= kMaxSide ||
      height >= kMaxPixels / width) {
    return InvalidArgument("a picture of ", width, " x ", height, " pixels is too large");
  }
  return context.AllocateOutput(0, Shape{height, width, channels});
}

// Fills `out` with bytes from 0 to 255, or numbers that mean the same.
void Widen(std::span<const uint8_t> bytes, Tensor* out) {
  if (out->dtype() == DType::kUint16) {
    std::ranges::transform(bytes, out->mutable_data<uint16_t>(),
                           [](uint8_t value) { return static_cast<uint16_t>(value * 256); });
  } else {
    std::ranges::transform(bytes, out->mutable_data<float>(), [](uint8_t value) {
      return static_cast<float>(value) * (1.0f / 255.0f);
    });
  }
}

int32_t LittleEndian32(const char* at) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return static_cast<int32_t>(value);
}

class DecodeKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    auto kernel = std::make_unique<DecodeKernel>();
    const std::string& op = request.node.op();
    kernel->op_ = op;
    kernel->channels_ = request.attr<int64_t>("channels");
    const bool allowed = op == "DecodeJpeg" ? kernel->channels_ == 0 || kernel->channels_ == 1 ||
                                                  kernel->channels_ == 3
                                            : kernel->channels_ == 0 || kernel->channels_ == 1 ||
                                                  kernel->channels_ == 3 || kernel->channels_ == 4;
    if (!allowed) return InvalidArgument("channels cannot be ", kernel->channels_, " in ", op);
    if (op == "DecodeJpeg") {
      const int64_t ratio = request.attr<int64_t>("ratio");
      if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) {
        return InvalidArgument("ratio should be 1, 2, 4 or 8 but is ", ratio);
      }
      const std::string& method = request.attr<std::string>("dct_method");
      if (method != "" && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
        return InvalidArgument("dct_method should be '', INTEGER_FAST or INTEGER_ACCURATE but is '",
                               method, "'");
      }
      kernel->jpeg_ = {.ratio = static_cast<int>(ratio),
                       .fancy_upscaling = request.attr<bool>("fancy_upscaling"),
                       .try_recover_truncated = request.attr<bool>("try_recover_truncated"),
                       .acceptable_fraction = request.attr<float>("acceptable_fraction"),
                       .fast_dct = method != "INTEGER_ACCURATE"};
    }
    kernel->jpeg_.channels = static_cast<int>(kernel->channels_);
    return kernel;
  }

  Status Run(KernelContext& context) override {
    if (context.input(0).rank() != 0) {
      return InvalidArgument("contents should be a scalar but has shape ",
                             context.input(0).shape().ToString());
    }
    const std::string_view bytes = context.input(0).scalar<std::string>();
    if (bytes.starts_with("BM")) {
      if (op_ != "DecodeBmp" && op_ != "DecodeImage") {
        return InvalidArgument("the picture is a BMP file, which ", op_,
                               " does not read: use DecodeBmp or DecodeImage");
      }
      return DecodeBmp(context, bytes);
    }
    if (op_ == "DecodeBmp") return InvalidArgument("the picture is no BMP file");
    if (bytes.starts_with("\x89PNG")) return DecodePng(context, bytes);
    if (bytes.starts_with("\xff\xd8\xff")) return DecodeJpeg(context, bytes);
    return InvalidArgument("the picture is in no known format: JPEG, PNG and BMP are");
  }

 private:
  Status DecodePng(KernelContext& context, std::string_view bytes) const {
    const DType dtype = context.output_dtype(0);
    CARILLON_ASSIGN_OR_RETURN(
        PngDecoder decoder,
        PngDecoder::Open(bytes, static_cast<int>(channels_), dtype == DType::kUint8 ? 8 : 16));
    const PngFormat& format = decoder.format();
    CARILLON_ASSIGN_OR_RETURN(
        Tensor * out, AllocatePicture(context, format.height, format.width, format.channels));
    if (dtype != DType::kFloat) return decoder.Read(out->mutable_raw_data());
    std::vector<uint16_t> wide(static_cast<size_t>(out->num_elements()));
    CARILLON_RETURN_IF_ERROR(decoder.Read(wide.data()));
    std::ranges::transform(wide, out->mutable_data<float>(), [](uint16_t value) {
      return static_cast<float>(value) * (1.0f / 65535.0f);
    });
    return absl::OkStatus();
  }

  Status DecodeJpeg(KernelContext& context, std::string_view bytes) const {
    if (channels_ == 4) return InvalidArgument("a JPEG picture cannot have 4 channels");
    CARILLON_ASSIGN_OR_RETURN(JpegDecoder decoder, JpegDecoder::Open(bytes, jpeg_));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, AllocatePicture(context, decoder.height(),
                                                            decoder.width(), decoder.channels()));
    if (out->dtype() == DType::kUint8) return decoder.Read(out->mutable_data<uint8_t>());
    std::vector<uint8_t> pixels(static_cast<size_t>(out->num_elements()));
    CARILLON_RETURN_IF_ERROR(decoder.Read(pixels.data()));
    Widen(pixels, out);
    return absl::OkStatus();
  }

  // Rows of blue, green, red (and alpha), or of grey, each padded to 4 bytes; from the bottom
  // unless the height is negative.
  Status DecodeBmp(KernelContext& context, std::string_view bytes) const {
    if (bytes.size() < 32)
      return InvalidArgument("a BMP file of ", bytes.size(), " bytes is truncated");
    const int64_t begin = LittleEndian32(bytes.data() + 10);
    const int64_t width = LittleEndian32(bytes.data() + 18);
    const int64_t signed_height = LittleEndian32(bytes.data() + 22);
    const int bits = LittleEndian32(bytes.data() + 28) & 0xffff;
    const int channels = bits / 8;
    if (bits != 8 && bits != 24 && bits != 32) {
      return InvalidArgument("a BMP file has ", bits, " bits a pixel, not 8, 24 or 32");
    }
    if (channels_ != 0 && channels_ != channels) {
      return InvalidArgument("a BMP file has ", channels, " channels but ", channels_,
                             " are wanted");
    }
    if (signed_height == std::numeric_limits<int32_t>::min())
      return InvalidArgument("a BMP file is corrupt");
    const int64_t height = std::abs(signed_height);
    if (width < 1 || height < 1 || width >= kMaxSide || height >= kMaxPixels / width) {
      return InvalidArgument("a BMP picture of ", width, " x ", height, " pixels cannot be read");
    }
    const int64_t stride = (width * channels + 3) / 4 * 4,
                  size = static_cast<int64_t>(bytes.size());
    if (begin < 0 || begin > size || (height - 1) * stride + width * channels > size - begin) {
      return InvalidArgument("a BMP file of ", size, " bytes is too short for ", width, " x ",
                             height, " pixels");
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, AllocatePicture(context, height, width, channels));
    std::vector<uint8_t> narrow(
        out->dtype() == DType::kUint8 ? 0 : static_cast<size_t>(out->num_elements()));
    uint8_t* to = narrow.empty() ? out->mutable_data<uint8_t>() : narrow.data();
    for (int64_t y = 0; y < height; ++y) {
      const int64_t row = signed_height < 0 ? y : height - 1 - y;
      const char* from = bytes.data() + begin + row * stride;
      for (int64_t x = 0; x < width; ++x, from += channels, to += channels) {
        std::memcpy(to, from, static_cast<size_t>(channels));
        if (channels >= 3) std::swap(to[0], to[2]);
      }
    }
    if (!narrow.empty()) Widen(narrow, out);
    return absl::OkStatus();
  }

  std::string op_;
  int64_t channels_ = 0;
  JpegDecodeOptions jpeg_;
};

class EncodePngKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const int64_t compression = request.attr<int64_t>("compression");
    if (compression < -1 || compression > 9) {
      return InvalidArgument("compression should be from -1 to 9 but is ", compression);
    }
    return std::make_unique<EncodePngKernel>(static_cast<int>(compression));
  }
  explicit EncodePngKernel(int compression) : compression_(compression) {}

  Status Run(KernelContext& context) override {
    const Tensor& images = context.input(0);
    const int rank = images.rank();
    if (rank < 3 || images.dim(rank - 1) < 1 || images.dim(rank - 1) > 4) {
      return InvalidArgument(
          "pictures should have the shape [..., height, width, 1 to 4] but have ",
          images.shape().ToString());
    }
    const PngFormat format{.width = images.dim(rank - 2),
                           .height = images.dim(rank - 3),
                           .channels = static_cast<int>(images.dim(rank - 1)),
                           .bits = images.dtype() == DType::kUint8 ? 8 : 16,
                           .compression = compression_};
    CARILLON_ASSIGN_OR_RETURN(
        Tensor * out,
        context.AllocateOutput(
            0, Shape(std::span(images.shape().dims()).first(static_cast<size_t>(rank - 3)))));
    if (out->num_elements() > 0 && (format.width == 0 || format.height == 0)) {
      return absl::InternalError("a picture without pixels cannot be written as PNG");
    }
    const auto* pixels = static_cast<const char*>(images.raw_data());
    const int64_t size = format.width * format.height * format.channels * format.bits / 8;
    for (int64_t i = 0; i < out->num_elements(); ++i) {
      CARILLON_ASSIGN_OR_RETURN(out->mutable_data<std::string>()[i],
                                EncodePngPixels(format, pixels + i * size));
    }
    return absl::OkStatus();
  }

 private:
  const int compression_;
};

class EncodeJpegKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const int64_t quality = request.attr<int64_t>("quality");
    if (quality < 0 || quality > 100)
      return InvalidArgument("quality should be from 0 to 100 but is ", quality);
    const auto density = [&](std::string_view name) {
      return static_cast<int>(std::clamp<int64_t>(request.attr<int64_t>(name), 0, 65535));
    };
    auto kernel = std::make_unique<EncodeJpegKernel>();
    const std::string& format = request.attr<std::string>("format");
    kernel->channels_ = format == "grayscale" ? 1 : format == "rgb" ? 3 : 0;
    kernel->options_ = {.quality = static_cast<int>(quality),
                        .progressive = request.attr<bool>("progressive"),
                        .optimize_size = request.attr<bool>("optimize_size"),
                        .chroma_downsampling = request.attr<bool>("chroma_downsampling"),
                        .density_in_cm = request.attr<std::string>("density_unit") == "cm",
                        .x_density = density("x_density"),
                        .y_density = density("y_density"),
                        .xmp_metadata = request.attr<std::string>("xmp_metadata")};
    return kernel;
  }

  Status Run(KernelContext& context) override {
    const Tensor& image = context.input(0);
    if (image.rank() != 3 || (image.dim(2) != 1 && image.dim(2) != 3) ||
        (channels_ != 0 && image.dim(2) != channels_)) {
      return InvalidArgument("a picture to encode has shape ", image.shape().ToString(),
                             ", expected [height, width, ",
                             channels_ == 0   ? "1 or 3"
                             : channels_ == 1 ? "1"
                                              : "3",
                             "]");
    }
    CARILLON_ASSIGN_OR_RETURN(std::string bytes, EncodeJpegPixels(image.dim(1), image.dim(0),
                                                                  static_cast<int>(image.dim(2)),
                                                                  image.data<uint8_t>(), options_));
    context.set_text(0, std::move(bytes));
    return absl::OkStatus();
  }

 private:
  int64_t channels_ = 0;  // 0: as the picture has
  JpegEncodeOptions options_;
};

}  // namespace

void AddImageCodecKernels(KernelTable& table) {
  table.Add({
      {"DecodePng", "ref", FromClass<DecodeKernel>},
      {"DecodeJpeg", "ref", FromClass<DecodeKernel>},
      {"DecodeImage", "ref", FromClass<DecodeKernel>},
      {"DecodeBmp", "ref", FromClass<DecodeKernel>},
      {"EncodePng", "ref", FromClass<EncodePngKernel>},
      {"EncodeJpeg", "ref", FromClass<EncodeJpegKernel>},
  });
}

}  // namespace carillon
