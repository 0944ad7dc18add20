// The elements of a tensor as text, the way TensorFlow's Print, Assert and StringFormat show them.
#pragma once

#include <cstdint>
#include <string>

#include "carillon/tensor.h"

namespace carillon {

// The first `max_elements` (all when negative): "[0 1 2][3 4..." and "..." for what is left out.
// What Assert and Print show.
std::string SummarizeFlat(const Tensor& value, int64_t max_elements);

// `edge_elements` (all when negative) from either end of every dimension, laid out in lines: what
// StringFormat and PrintV2 show.
std::string SummarizeNested(const Tensor& value, int64_t edge_elements);

}  // namespace carillon
