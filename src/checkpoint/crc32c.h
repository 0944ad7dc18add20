// The checksum of TensorFlow's files.
#pragma once

#include <cstdint>
#include <string_view>

namespace carillon {

// The checksum of what `crc` is the checksum of, followed by `bytes`.
uint32_t Crc32c(std::string_view bytes, uint32_t crc = 0);

// Files hold checksums masked, because the checksum of bytes that contain their own checksum is of
// little use.
inline uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
inline uint32_t UnmaskCrc(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace carillon
