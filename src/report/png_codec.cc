#include "report/png_codec.h"

#include <csetjmp>
#include <cstring>
#include <png.h>
#include <vector>

#include "base/work_scope.h"

namespace carillon {
namespace {

// libpng reports errors by a long jump, over frames that must hold nothing to destroy: everything
// between setjmp and the jump is plain C.

void OnError(png_structp png, png_const_charp) { std::longjmp(png_jmpbuf(png), 1); }
void OnWarning(png_structp, png_const_charp) {}

void AppendTo(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(bytes), size);
}
void FlushNothing(png_structp) {}

void TakeFrom(png_structp png, png_bytep out, size_t size) {
  auto* rest = static_cast<std::string_view*>(png_get_io_ptr(png));
  if (rest->size() < size) png_error(png, "truncated");
  std::memcpy(out, rest->data(), size);
  rest->remove_prefix(size);
}

bool WriteAll(png_structp png, png_infop info, const PngFormat& format, const png_byte* pixels) {
  if (setjmp(png_jmpbuf(png))) return false;
  static constexpr int kColorTypes[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                        PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_compression_level(png, format.compression);
  png_set_IHDR(png, info, static_cast<png_uint_32>(format.width),
               static_cast<png_uint_32>(format.height), format.bits,
               kColorTypes[format.channels - 1], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if (format.bits > 8) png_set_swap(png);
  const int64_t stride = format.width * format.channels * format.bits / 8;
  for (int64_t y = 0; y < format.height; ++y) {
    if (WorkIsCancelled()) png_error(png, "cancelled");
    png_write_row(png, pixels + y * stride);
  }
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

StatusOr<std::string> EncodePngPixels(const PngFormat& format, const void* pixels) {
  if (format.width < 1 || format.height < 1 || format.width > PNG_USER_WIDTH_MAX ||
      format.height > PNG_USER_HEIGHT_MAX) {
    return InvalidArgument("a picture of ", format.width, " x ", format.height,
                           " pixels cannot be written as PNG");
  }
  // Destroyed also when there is no memory for more of `out`: that is thrown through libpng.
  struct Writer {
    Writer() : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, OnError, OnWarning)) {
      if (png != nullptr) info = png_create_info_struct(png);
    }
    ~Writer() { png_destroy_write_struct(&png, &info); }
    png_structp png;
    png_infop info = nullptr;
  };
  std::string out;
  Writer writer;
  if (writer.info == nullptr) return ResourceExhausted("no memory to write a PNG picture");
  png_set_write_fn(writer.png, &out, AppendTo, FlushNothing);
  if (!WriteAll(writer.png, writer.info, format, static_cast<const png_byte*>(pixels)))
    return absl::InternalError("libpng could not write the picture");
  return out;
}

struct PngDecoder::State {
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }

  // Reads the header and asks for the conversions that lead to `format`.
  bool ReadHeader(int channels, int bits, PngFormat* format) {
    if (setjmp(png_jmpbuf(png))) return false;
    return Configure(channels, bits, format);
  }
  [[gnu::noinline]] bool Configure(int channels, int bits, PngFormat* format) {
    png_read_info(png, info);
    const int depth = png_get_bit_depth(png, info);
    const int color_type = png_get_color_type(png, info);
    const bool has_alpha = (color_type & PNG_COLOR_MASK_ALPHA) != 0;
    const bool has_transparency = png_get_valid(png, info, PNG_INFO_tRNS) != 0;
    const bool is_gray = (color_type & PNG_COLOR_MASK_COLOR) == 0;
    if (channels == 0) {
      channels = color_type == PNG_COLOR_TYPE_PALETTE ? (has_transparency ? 4 : 3)
                                                      : png_get_channels(png, info);
    }
    const bool want_alpha = channels % 2 == 0, want_gray = channels < 3;

    if (want_alpha && !has_alpha) {
      if (has_transparency) {
        png_set_tRNS_to_alpha(png);
      } else {
        png_set_add_alpha(png, (1u << depth) - 1, PNG_FILLER_AFTER);
      }
    } else if (!want_alpha && (has_alpha || has_transparency)) {
      png_set_strip_alpha(png);
    }
    if (depth > 8 && bits == 8) png_set_strip_16(png);
    widen = depth <= 8 && bits == 16;
    png_set_packing(png);
    passes = png_set_interlace_handling(png);
    if (bits == 16) png_set_swap(png);
    if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (is_gray && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
    if (want_gray && !is_gray) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
    if (!want_gray && is_gray) png_set_gray_to_rgb(png);
    png_read_update_info(png, info);

    format->width = png_get_image_width(png, info);
    format->height = png_get_image_height(png, info);
    format->channels = channels;
    format->bits = bits;
    row_bytes = png_get_rowbytes(png, info);
    return png_get_channels(png, info) == channels &&
           static_cast<int64_t>(row_bytes) == format->width * channels * bits / (widen ? 16 : 8);
  }

  bool ReadRows(png_byte* pixels, int64_t stride, int64_t height) {
    if (setjmp(png_jmpbuf(png))) return false;
    for (int pass = 0; pass < passes; ++pass) {
      for (int64_t y = 0; y < height; ++y) {
        if (WorkIsCancelled()) return false;
        png_read_row(png, pixels + y * stride, nullptr);
      }
    }
    png_read_end(png, info);
    return true;
  }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view rest;
  size_t row_bytes = 0;
  int passes = 1;
  bool widen = false;  // the file has 8 bits a channel, 16 are wanted
};

PngDecoder::PngDecoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
PngDecoder::PngDecoder(PngDecoder&&) noexcept = default;
PngDecoder::~PngDecoder() = default;

StatusOr<PngDecoder> PngDecoder::Open(std::string_view bytes, int channels, int bits) {
  PngDecoder decoder(std::make_unique<State>());
  State& state = *decoder.state_;
  state.rest = bytes;
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, OnError, OnWarning);
  if (state.png != nullptr) state.info = png_create_info_struct(state.png);
  if (state.info == nullptr) return ResourceExhausted("no memory to decode a PNG picture");
  png_set_read_fn(state.png, &state.rest, TakeFrom);
  // Texts and the like may unpack to any size, and nobody wants them.
  png_set_keep_unknown_chunks(state.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  if (!state.ReadHeader(channels, bits, &decoder.format_)) {
    return InvalidArgument("the ", bytes.size(), " bytes are no valid PNG picture");
  }
  return decoder;
}

Status PngDecoder::Read(void* pixels) {
  auto* bytes = static_cast<png_byte*>(pixels);
  const auto row_bytes = static_cast<int64_t>(state_->row_bytes);
  if (!state_->ReadRows(bytes, row_bytes, format_.height)) {
    return InvalidArgument("the PNG picture of ", format_.width, " x ", format_.height,
                           " pixels is truncated or corrupt");
  }
  if (state_->widen) {  // in place, from the back
    auto* wide = static_cast<uint16_t*>(pixels);
    for (int64_t i = row_bytes * format_.height - 1; i >= 0; --i) {
      const png_byte value = bytes[i];
      wide[i] = static_cast<uint16_t>(value * 257);
    }
  }
  return absl::OkStatus();
}

}  // namespace carillon
