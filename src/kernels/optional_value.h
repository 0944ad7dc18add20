// OptionalValue: what a variant of the Optional ops holds.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/tensor.h"
#include "tensor/object.h"

namespace carillon {

class OptionalValue final : public VariantValue {
 public:
  OptionalValue() = default;  // holds nothing
  explicit OptionalValue(std::vector<Tensor> components) : components_(std::move(components)) {}
  bool has_value() const { return components_.has_value(); }
  const std::vector<Tensor>& components() const { return *components_; }
  std::string DebugString() const override { return has_value() ? "optional" : "nothing"; }

 private:
  const std::optional<std::vector<Tensor>> components_;
};

}  // namespace carillon
