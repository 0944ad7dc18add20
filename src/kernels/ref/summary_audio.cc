// AudioSummaryV2: sound for TensorBoard, as WAV files of 16-bit samples.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/foreign_memory.h"
#include "kernels/ref/summary_kernels.h"

namespace carillon {
namespace {

void AppendLittleEndian(uint64_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

int16_t ToSample(float value) {
  const float scaled = std::roundf(value * 32768.0f);
  if (std::isnan(scaled)) return 0;
  return static_cast<int16_t>(std::clamp(scaled, -32768.0f, 32767.0f));
}

std::string EncodeWav(const float* samples, uint32_t sample_rate, uint32_t channels,
                      uint32_t frames) {
  const uint32_t frame_bytes = 2 * channels, data_bytes = frame_bytes * frames;
  std::string out = "RIFF";
  AppendLittleEndian(36 + data_bytes, 4, &out);
  out += "WAVEfmt ";
  AppendLittleEndian(16, 4, &out);  // bytes of the format
  AppendLittleEndian(1, 2, &out);   // plain samples
  AppendLittleEndian(channels, 2, &out);
  AppendLittleEndian(sample_rate, 4, &out);
  AppendLittleEndian(uint64_t{sample_rate} * frame_bytes, 4, &out);
  AppendLittleEndian(frame_bytes, 2, &out);
  AppendLittleEndian(16, 2, &out);  // bits of a sample
  out += "data";
  AppendLittleEndian(data_bytes, 4, &out);
  for (uint32_t i = 0; i < channels * frames; ++i) {
    AppendLittleEndian(static_cast<uint16_t>(ToSample(samples[i])), 2, &out);
  }
  return out;
}

class AudioSummaryKernel final : public Kernel {
 public:
  explicit AudioSummaryKernel(const KernelRequest& request)
      : max_outputs_(request.attr<int64_t>("max_outputs")) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const std::string tag, ScalarTag(context, 0));
    const Tensor& sounds = context.input(1);
    if (sounds.rank() != 2 && sounds.rank() != 3) {
      return InvalidArgument("sounds should have 2 or 3 dimensions but have shape ",
                             sounds.shape().ToString());
    }
    if (context.input(2).num_elements() != 1)
      return InvalidArgument("sample_rate should be one number");
    const float sample_rate = context.input(2).data<float>()[0];
    if (!(sample_rate > 0) || !(sample_rate < 4294967296.0f)) {
      return InvalidArgument("sample_rate should be above 0 and below 2^32 but is ", sample_rate);
    }
    const int64_t frames = sounds.dim(1), channels = sounds.rank() == 3 ? sounds.dim(2) : 1;
    constexpr int64_t kMaxSamples = std::numeric_limits<uint32_t>::max() / 4;
    if (channels < 1 || channels > 65535 / 2 || frames > kMaxSamples / channels) {
      return InvalidArgument("sounds of ", frames, " frames and ", channels,
                             " channels cannot be written as WAV");
    }
    const ForeignWork work(BytesOfSummary(context));
    tensorflow::Summary summary;
    for (int64_t i = 0; i < std::min(max_outputs_, sounds.dim(0)); ++i) {
      tensorflow::Summary::Value* value = summary.add_value();
      value->set_tag(max_outputs_ > 1 ? StrCat(tag, "/audio/", i) : StrCat(tag, "/audio"));
      tensorflow::Summary::Audio* audio = value->mutable_audio();
      audio->set_sample_rate(sample_rate);
      audio->set_num_channels(channels);
      audio->set_length_frames(frames);
      audio->set_content_type("audio/wav");
      audio->set_encoded_audio_string(EncodeWav(sounds.data<float>() + i * frames * channels,
                                                static_cast<uint32_t>(std::lround(sample_rate)),
                                                static_cast<uint32_t>(channels),
                                                static_cast<uint32_t>(frames)));
    }
    SetSummary(context, summary);
    return absl::OkStatus();
  }

 private:
  const int64_t max_outputs_;
};

}  // namespace

void AddSummaryAudioKernels(KernelTable& table) {
  table.Add({"AudioSummaryV2", "ref", FromClass<AudioSummaryKernel>});
}

}  // namespace carillon
