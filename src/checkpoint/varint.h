// Integers of variable length, seven bits a byte, the lowest first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace carillon {

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// Takes a number off the front of *bytes; false, and *bytes as it was, when none is there.
inline bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < bytes->size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>((*bytes)[i]);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      bytes->remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

}  // namespace carillon
