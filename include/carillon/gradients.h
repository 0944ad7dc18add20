// Gradients(): adds the backward graph.
#pragma once

#include <variant>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Rows `values[i]` of a tensor of shape `dense_shape`, at indices[i] of its first dimension; what
// the gradient of a gather is. Indices may repeat: rows add up.
struct IndexedSlices {
  Output values;
  Output indices;
  Output dense_shape;
};

// A gradient: nothing, one tensor, or slices.
class Gradient {
 public:
  Gradient() = default;
  Gradient(const Output& tensor) {
    if (tensor.valid()) value_ = tensor;
  }                                                   // NOLINT
  Gradient(IndexedSlices slices) : value_(slices) {}  // NOLINT
  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_slices() const { return std::holds_alternative<IndexedSlices>(value_); }
  const Output& tensor() const { return std::get<Output>(value_); }
  const IndexedSlices& slices() const { return std::get<IndexedSlices>(value_); }
  // One tensor: slices are scattered into zeros. Invalid for an empty gradient.
  Output Dense() const;

 private:
  std::variant<std::monostate, Output, IndexedSlices> value_;
};

struct GradientOptions {
  std::vector<Output> grad_ys;         // starting gradients, one for each y; ones by default
  std::vector<Output> stop_gradients;  // treated as constants
  bool colocate = true;                // backward ops are placed with their forward op
};

// d(sum of ys)/dx for each x; empty where no path leads from x to any y. Throws
// Error(Unimplemented), naming op and node, when a path crosses an op without a gradient.
std::vector<Gradient> Gradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                                const GradientOptions& options = {});

}  // namespace carillon
