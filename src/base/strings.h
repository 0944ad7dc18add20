// StrCat for everything that abseil's takes, and std::string_view (which the packaged abseil does
// not know).
#pragma once

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace carillon {
namespace internal {
template <typename T>
const T& Printable(const T& value) {
  return value;
}
inline absl::string_view Printable(std::string_view value) { return {value.data(), value.size()}; }
}  // namespace internal

template <typename... Args>
std::string StrCat(const Args&... args) {
  return absl::StrCat(internal::Printable(args)...);
}

template <typename... Args>
void StrAppend(std::string* out, const Args&... args) {
  absl::StrAppend(out, internal::Printable(args)...);
}

}  // namespace carillon
