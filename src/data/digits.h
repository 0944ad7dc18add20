// The embedded data set: digits that look written by many hands, drawn by arithmetic alone.
#pragma once

#include <cstdint>
#include <span>

namespace carillon {

inline constexpr int kDigitSize = 28;
inline constexpr int kDigitPixels = kDigitSize * kDigitSize;

// Draws sample `index` of the data set `seed` (white ink on black paper, rows from the top) and
// returns which digit it shows. A function of its arguments alone.
int DrawDigit(uint64_t seed, uint64_t index, std::span<uint8_t, kDigitPixels> pixels);

}  // namespace carillon
