// Attributes of nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "carillon/dtype.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"

namespace carillon {

class AttrValue;
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

// A function of the graph's library, with the attributes to instantiate it with.
struct FunctionRef {
  std::string name;
  std::vector<std::pair<std::string, AttrValue>> attrs;  // sorted by name
  bool operator==(const FunctionRef& other) const;
};

class AttrValue {
 public:
  template <typename T>
  using List = std::vector<T>;
  using Variant =
      std::variant<std::monostate, std::string, int64_t, float, bool, DType, PartialShape, Tensor,
                   FunctionRef, List<std::string>, List<int64_t>, List<float>, List<bool>,
                   List<DType>, List<PartialShape>, List<Tensor>, List<FunctionRef>>;

  AttrValue() = default;
  AttrValue(Variant value) : value_(std::move(value)) {}  // NOLINT: any attribute type converts
  AttrValue(const char* value) : value_(std::string(value)) {}
  AttrValue(int value) : value_(int64_t{value}) {}
  template <typename T>
  AttrValue(T value) : value_(std::move(value)) {}

  template <typename T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  const Variant& variant() const { return value_; }

  // Tensors compare by dtype, shape and elements; floats by bits.
  bool operator==(const AttrValue& other) const;
  // A form that equal values share and different ones do not (large tensors by a digest), for
  // messages and for hashing nodes.
  std::string ToString() const;

 private:
  Variant value_;
};

}  // namespace carillon
