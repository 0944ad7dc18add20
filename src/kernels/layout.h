// How the elements of a tensor lie in memory, where that is not row-major.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace carillon {

// Made by a kernel library (oneDNN's blocked formats, …) and understood by it alone. Immutable.
class LayoutDescription {
 public:
  virtual ~LayoutDescription() = default;
  virtual bool Equals(const LayoutDescription& other) const = 0;
  virtual size_t bytes() const = 0;  // of the whole tensor, padding included
  virtual std::string ToString() const = 0;
};

// Null: plain row-major. A tensor in another layout still has its logical shape; only kernels that
// were chosen for that layout see it.
using Layout = std::shared_ptr<const LayoutDescription>;

inline bool SameLayout(const Layout& a, const Layout& b) {
  return a == b || (a != nullptr && b != nullptr && a->Equals(*b));
}

}  // namespace carillon
