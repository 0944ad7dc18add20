#include <zlib.h>

#include "base/strings.h"
#include "report/picture.h"

namespace carillon {
namespace {

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Length, type, data, and the crc of type and data.
void AppendChunk(std::string_view type, std::string_view data, std::string* out) {
  const std::string body = StrCat(type, data);
  const auto crc = static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
  StrAppend(out, BigEndian(static_cast<uint32_t>(data.size())), body, BigEndian(crc));
}

// Each row after a byte that names its filter: 2, the difference to the row above, which suits
// drawings with flat areas.
std::string FilteredRows(const Picture& picture) {
  constexpr char kUp = 2;
  const size_t stride = static_cast<size_t>(picture.width) * static_cast<size_t>(picture.channels);
  std::string rows;
  rows.reserve((stride + 1) * static_cast<size_t>(picture.height));
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    rows.push_back(kUp);
    for (size_t i = 0; i < stride; ++i) {
      const uint8_t above = y == 0 ? 0 : picture.pixels[(y - 1) * stride + i];
      rows.push_back(static_cast<char>(picture.pixels[y * stride + i] - above));
    }
  }
  return rows;
}

}  // namespace

std::string EncodePng(const Picture& picture) {
  const std::string rows = FilteredRows(picture);
  uLongf size = ::compressBound(static_cast<uLong>(rows.size()));
  std::string compressed(size, '\0');
  // It cannot fail: the space is sufficient and the level valid.
  ::compress2(reinterpret_cast<Bytef*>(compressed.data()), &size,
              reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()), 6);
  compressed.resize(size);

  const char color_type = picture.channels == 1 ? 0 : 2;
  std::string out = "\x89PNG\r\n\x1a\n";
  AppendChunk(
      "IHDR",
      StrCat(BigEndian(static_cast<uint32_t>(picture.width)),
             BigEndian(static_cast<uint32_t>(picture.height)), std::string{8, color_type, 0, 0, 0}),
      &out);
  AppendChunk("IDAT", compressed, &out);
  AppendChunk("IEND", "", &out);
  return out;
}

}  // namespace carillon
