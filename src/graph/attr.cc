#include "graph/attr.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/strings.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

bool SameElements(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (!a.has_value() || a.num_elements() == 0) return true;
  if (IsPlainData(a.dtype())) return std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
  if (a.dtype() == DType::kString)
    return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
  return a.raw_data() == b.raw_data();
}

template <typename T>
bool Same(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    return SameElements(a, b);
  } else if constexpr (requires { a.begin(); } && !std::is_same_v<T, std::string>) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return Same(x, y); });
  } else {
    return a == b;
  }
}

// FNV-1a over the bytes: tells large tensors apart in ToString.
uint64_t Digest(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325ull;
  const auto* byte = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 0x100000001b3ull;
  return hash;
}

template <typename T>
std::string Print(const T& value) {
  if constexpr (std::is_same_v<T, std::monostate>) {
    return "<unset>";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return StrCat("\"", value, "\"");
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, DType>) {
    return DTypeName(value);
  } else if constexpr (std::is_same_v<T, PartialShape>) {
    return value.ToString();
  } else if constexpr (std::is_same_v<T, Tensor>) {
    std::string text = value.ToString(16);
    if (value.num_elements() > 16 && IsPlainData(value.dtype())) {
      StrAppend(&text, "#", absl::Hex(Digest(value.raw_data(), value.num_bytes())));
    }
    return text;
  } else if constexpr (std::is_same_v<T, FunctionRef>) {
    std::string text = StrCat(value.name, "{");
    for (const auto& [name, attr] : value.attrs) StrAppend(&text, name, "=", attr.ToString(), ";");
    return text + "}";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return StrCat(value);
  } else {
    std::string text = "[";
    for (size_t i = 0; i < value.size(); ++i) {
      StrAppend(&text, i == 0 ? "" : ", ",
                Print(static_cast<const typename T::value_type&>(value[i])));
    }
    return text + "]";
  }
}

}  // namespace

bool FunctionRef::operator==(const FunctionRef& other) const {
  return name == other.name && attrs == other.attrs;
}

bool AttrValue::operator==(const AttrValue& other) const {
  if (value_.index() != other.value_.index()) return false;
  return std::visit(
      [&](const auto& mine) {
        return Same(mine, std::get<std::decay_t<decltype(mine)>>(other.value_));
      },
      value_);
}

std::string AttrValue::ToString() const {
  return std::visit([](const auto& value) { return Print(value); }, value_);
}

}  // namespace carillon
