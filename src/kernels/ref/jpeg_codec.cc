#include "kernels/ref/jpeg_codec.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <jpeglib.h>
#include <memory>
#include <vector>

#include "base/foreign_memory.h"

namespace carillon {
namespace {

// libjpeg reports errors by a call that must not return; it jumps, over frames that must hold
// nothing to destroy: everything between setjmp and the jump is plain C.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  bool truncated = false;
};

void OnError(j_common_ptr info) {
  std::longjmp(reinterpret_cast<ErrorManager*>(info->err)->jump, 1);
}
void OnMessage(j_common_ptr, int) {}
void OnOutput(j_common_ptr) {}

void InitErrors(ErrorManager* errors) {
  jpeg_std_error(&errors->base);
  errors->base.error_exit = OnError;
  errors->base.emit_message = OnMessage;
  errors->base.output_message = OnOutput;
}

void InitSource(j_decompress_ptr) {}
void TermSource(j_decompress_ptr) {}

// The bytes are used up before the picture is complete: from here on there is only its end.
boolean FillInput(j_decompress_ptr info) {
  static constexpr JOCTET kEnd[] = {0xff, JPEG_EOI};
  reinterpret_cast<ErrorManager*>(info->err)->truncated = true;
  info->src->next_input_byte = kEnd;
  info->src->bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void SkipInput(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > info->src->bytes_in_buffer) {
    info->src->bytes_in_buffer = 0;
    return;
  }
  info->src->next_input_byte += count;
  info->src->bytes_in_buffer -= static_cast<size_t>(count);
}

constexpr int kMaxScans =
    500;  // a file of a few bytes can ask for very many passes over the picture

// Asked by libjpeg as it goes, also while it reads all passes of a file before the first row.
void OnProgress(j_common_ptr info) {
  const bool too_many = info->is_decompressor != FALSE &&
                        reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans;
  if (too_many || WorkIsCancelled()) OnError(info);
}

// What libjpeg keeps of a picture that it works on in several passes: two bytes for each
// coefficient.
size_t CoefficientBytes(const jpeg_component_info* components, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    bytes += size_t{components[i].width_in_blocks} * components[i].height_in_blocks * DCTSIZE2 *
             sizeof(JCOEF);
  }
  return bytes;
}

}  // namespace

struct JpegDecoder::State {
  State() { InitErrors(&errors); }
  ~State() {
    if (created) jpeg_destroy_decompress(&info);
  }

  bool ReadHeader(std::string_view bytes) {
    if (setjmp(errors.jump)) return false;
    info.err = &errors.base;
    jpeg_create_decompress(&info);
    created = true;
    source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
    source.bytes_in_buffer = bytes.size();
    source.init_source = InitSource;
    source.fill_input_buffer = FillInput;
    source.skip_input_data = SkipInput;
    source.resync_to_restart = jpeg_resync_to_restart;
    source.term_source = TermSource;
    info.src = &source;
    progress.progress_monitor = OnProgress;
    info.progress = &progress;
    jpeg_read_header(&info, TRUE);
    channels = options.channels == 0 ? (info.num_components == 1 ? 1 : 3) : options.channels;
    is_cmyk = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    info.out_color_space = channels == 1 ? JCS_GRAYSCALE : is_cmyk ? JCS_CMYK : JCS_RGB;
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(options.ratio);
    info.do_fancy_upsampling = options.fancy_upscaling;
    info.dct_method = options.fast_dct ? JDCT_IFAST : JDCT_ISLOW;
    jpeg_calc_output_dimensions(&info);
    return !errors.truncated;
  }

  // `row` is room for one row of CMYK, null when it is not needed.
  bool ReadRows(uint8_t* pixels, uint8_t* row) {
    if (setjmp(errors.jump)) return false;
    jpeg_start_decompress(&info);
    const size_t stride = size_t{info.output_width} * static_cast<size_t>(channels);
    while (info.output_scanline < info.output_height) {
      uint8_t* to = pixels + info.output_scanline * stride;
      JSAMPROW target = row == nullptr ? to : row;
      if (jpeg_read_scanlines(&info, &target, 1) != 1) return false;
      if (errors.truncated && !options.try_recover_truncated) return false;
      if (row != nullptr) FromCmyk(row, to);
      if (!errors.truncated) complete_rows = info.output_scanline;
    }
    if (errors.truncated) return true;
    jpeg_finish_decompress(&info);
    return true;
  }

  void FromCmyk(const uint8_t* row, uint8_t* to) const {
    for (JDIMENSION x = 0; x < info.output_width; ++x, row += 4, to += 3) {
      for (int c = 0; c < 3; ++c) {
        const int key = row[3], ink = row[c];
        to[c] = static_cast<uint8_t>(info.saw_Adobe_marker ? key * ink / 255
                                                           : (255 - ink) * (255 - key) / 255);
      }
    }
  }

  JpegDecodeOptions options;
  ErrorManager errors;
  jpeg_decompress_struct info{};
  jpeg_source_mgr source{};
  jpeg_progress_mgr progress{};
  bool created = false;
  bool is_cmyk = false;
  int channels = 0;
  int64_t complete_rows = 0;
};

JpegDecoder::JpegDecoder(std::unique_ptr<State> state) : state_(std::move(state)) {}
JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;
JpegDecoder::~JpegDecoder() = default;

int64_t JpegDecoder::width() const { return state_->info.output_width; }
int64_t JpegDecoder::height() const { return state_->info.output_height; }
int JpegDecoder::channels() const { return state_->channels; }

StatusOr<JpegDecoder> JpegDecoder::Open(std::string_view bytes, const JpegDecodeOptions& options) {
  JpegDecoder decoder(std::make_unique<State>());
  decoder.state_->options = options;
  if (!decoder.state_->ReadHeader(bytes)) {
    return InvalidArgument("the ", bytes.size(), " bytes are no valid JPEG picture");
  }
  return decoder;
}

Status JpegDecoder::Read(uint8_t* pixels) {
  State& state = *state_;
  const ForeignMemory coefficients(
      jpeg_has_multiple_scans(&state.info) != FALSE
          ? CoefficientBytes(state.info.comp_info, state.info.num_components)
          : 0);
  std::vector<uint8_t> row(state.is_cmyk && state.channels == 3 ? 4 * state.info.output_width : 0);
  const bool done = state.ReadRows(pixels, row.empty() ? nullptr : row.data());
  const bool enough = !state.errors.truncated ||
                      (state.options.try_recover_truncated &&
                       static_cast<float>(state.complete_rows) >=
                           state.options.acceptable_fraction * static_cast<float>(height()));
  if (done && enough) return absl::OkStatus();
  return InvalidArgument("the JPEG picture of ", width(), " x ", height(),
                         " pixels is truncated or corrupt");
}

namespace {

bool CompressAll(jpeg_compress_struct* info, ErrorManager* errors, int channels,
                 const uint8_t* pixels, const JpegEncodeOptions& options, unsigned char** bytes,
                 unsigned long* size) {
  if (setjmp(errors->jump)) return false;
  jpeg_mem_dest(info, bytes, size);
  info->input_components = channels;
  info->in_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(info);
  if (options.optimize_size) info->optimize_coding = TRUE;
  info->density_unit = options.density_in_cm ? 2 : 1;
  info->X_density = static_cast<UINT16>(options.x_density);
  info->Y_density = static_cast<UINT16>(options.y_density);
  jpeg_set_quality(info, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(info);
  if (!options.chroma_downsampling) {
    for (int i = 0; i < info->num_components; ++i) {
      info->comp_info[i].h_samp_factor = 1;
      info->comp_info[i].v_samp_factor = 1;
    }
  }
  jpeg_progress_mgr progress{};
  progress.progress_monitor = OnProgress;
  info->progress = &progress;
  jpeg_start_compress(info, TRUE);
  if (!options.xmp_metadata.empty()) {
    constexpr std::string_view kName("http://ns.adobe.com/xap/1.0/\0", 29);
    jpeg_write_m_header(info, JPEG_APP0 + 1,
                        static_cast<unsigned>(kName.size() + options.xmp_metadata.size()));
    for (const char c : kName) jpeg_write_m_byte(info, static_cast<unsigned char>(c));
    for (const char c : options.xmp_metadata)
      jpeg_write_m_byte(info, static_cast<unsigned char>(c));
  }
  const size_t stride = size_t{info->image_width} * static_cast<size_t>(channels);
  while (info->next_scanline < info->image_height) {
    auto* row = const_cast<JSAMPROW>(pixels + info->next_scanline * stride);
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
  return true;
}

}  // namespace

StatusOr<std::string> EncodeJpegPixels(int64_t width, int64_t height, int channels,
                                       const uint8_t* pixels, const JpegEncodeOptions& options) {
  if (width < 1 || height < 1 || width > JPEG_MAX_DIMENSION || height > JPEG_MAX_DIMENSION) {
    return InvalidArgument("a picture of ", width, " x ", height,
                           " pixels cannot be written as JPEG");
  }
  if (options.xmp_metadata.size() > 65000) {
    return InvalidArgument("the metadata of a JPEG picture cannot have ",
                           options.xmp_metadata.size(), " bytes");
  }
  const auto samples =
      static_cast<size_t>(width) * static_cast<size_t>(height) * static_cast<size_t>(channels);
  const bool in_passes = options.progressive || options.optimize_size;
  const ForeignMemory coefficients(in_passes ? samples * sizeof(JCOEF) : 0);
  ErrorManager errors;
  InitErrors(&errors);
  jpeg_compress_struct info{};
  info.err = &errors.base;
  jpeg_create_compress(&info);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool done = CompressAll(&info, &errors, channels, pixels, options, &bytes, &size);
  jpeg_destroy_compress(&info);
  const std::unique_ptr<unsigned char, decltype(&std::free)> owned(bytes, &std::free);
  if (!done) return absl::InternalError("libjpeg could not write the picture");
  const ForeignMemory result(size);
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

}  // namespace carillon
