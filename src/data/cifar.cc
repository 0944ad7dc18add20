#include <utility>

#include "data/byte_source.h"
#include "data/formats.h"

namespace carillon {
namespace {

constexpr int kSide = 32, kChannels = 3, kPlane = kSide * kSide;
constexpr uint64_t kMostReserved = 100'000;
constexpr size_t kPixels = static_cast<size_t>(kPlane) * kChannels;

// From three planes to three channels a pixel.
void Interleave(const char* planes, uint8_t* pixels) {
  for (int i = 0; i < kPlane; ++i) {
    for (int c = 0; c < kChannels; ++c) {
      pixels[i * kChannels + c] = static_cast<uint8_t>(planes[c * kPlane + i]);
    }
  }
}

// Appends the records of one file.
Status ReadFile(Env& env, const std::string& path, int label_bytes, int classes,
                std::vector<uint8_t>* pixels, std::vector<int64_t>* labels) {
  CARILLON_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(env, path));
  const size_t record_bytes = static_cast<size_t>(label_bytes) + kPixels;
  const uint64_t records = source.MostBytesLeft() / record_bytes;  // far too many when packed
  if (records < kMostReserved) pixels->reserve(pixels->size() + records * kPixels);
  std::vector<char> record(record_bytes);
  for (int64_t number = 0;; ++number) {
    const uint64_t start = source.offset();
    CARILLON_ASSIGN_OR_RETURN(const bool any,
                              source.ReadUnlessAtEnd(record, StrCat("record ", number)));
    if (!any && number == 0)
      return DataLoss(path, ": empty, expected records of ", record_bytes, " bytes");
    if (!any) return absl::OkStatus();
    const auto label = static_cast<uint8_t>(record[static_cast<size_t>(label_bytes) - 1]);
    if (label >= classes) {
      return DataLoss(path, ": label ", static_cast<int>(label), " at offset ",
                      start + static_cast<uint64_t>(label_bytes) - 1, " (record ", number,
                      "), expected 0 to ", classes - 1);
    }
    labels->push_back(label);
    pixels->resize(pixels->size() + kPixels);
    Interleave(record.data() + label_bytes, pixels->data() + pixels->size() - kPixels);
  }
}

}  // namespace

Status ReadCifar(Env& env, const std::vector<std::string>& paths, int label_bytes, int classes,
                 Dataset* dataset) {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  for (const std::string& path : paths) {
    CARILLON_RETURN_IF_ERROR(ReadFile(env, path, label_bytes, classes, &pixels, &labels));
  }
  const auto n = static_cast<int64_t>(labels.size());
  dataset->images = TensorOf(std::move(pixels), Shape{n, kSide, kSide, kChannels});
  dataset->labels = TensorOf(std::move(labels), Shape{n});
  return absl::OkStatus();
}

}  // namespace carillon
