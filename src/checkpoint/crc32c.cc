#include "checkpoint/crc32c.h"

#include <algorithm>
#include <isa-l/crc.h>

namespace carillon {

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
  constexpr size_t kPiece = size_t{1} << 30;  // ISA-L counts in int
  unsigned int state = ~crc;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kPiece);
    // ISA-L does not say const, but only reads.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    state = ::crc32_iscsi(data, static_cast<int>(n), state);
    bytes.remove_prefix(n);
  }
  return ~state;
}

}  // namespace carillon
