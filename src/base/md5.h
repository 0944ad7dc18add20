// MD5 sums, for choices that have to come out the same in every process. Not for secrets.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carillon {

std::array<uint8_t, 16> Md5(std::string_view text);

}  // namespace carillon
