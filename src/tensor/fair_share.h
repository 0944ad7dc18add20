// How much one may take of what many share, so that nobody finds nothing left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace carillon {

struct MemoryRoom {
  int64_t left = std::numeric_limits<int64_t>::max();
  int64_t whole = std::numeric_limits<int64_t>::max();
};

// Whether somebody may hold so much who leaves that much. Alone, three quarters of all. The less
// there is left, the less one may hold, so that others find more than those before them left; the
// last sixteenth is for those who hold little.
constexpr bool IsFairShare(int64_t held, const MemoryRoom& room) {
  constexpr int64_t kLittle = 256 << 10;
  if (room.left < 0) return false;
  if (held <= std::max(kLittle, room.whole / 1024)) return true;
  const double free = static_cast<double>(room.left) / static_cast<double>(room.whole);
  return free >= 1.0 / 16 &&
         static_cast<double>(held) <= 12 * free * static_cast<double>(room.left);
}

}  // namespace carillon
