// How far apart two words are: for messages that guess what was meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace carillon {

// The least number of letters to put in, leave out or change that makes one word of the other; case
// does not count. Takes time and memory in proportion to the product and the sum of the lengths.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace carillon
