// The C++ objects that tensors of dtype resource and variant hold.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "carillon/dtype.h"

namespace carillon {

// A resource: a variable, queue, table, … Lives in a resource store and in the handles that refer
// to it. Resources synchronise themselves.
class Resource {
 public:
  virtual ~Resource() = default;
  virtual std::string DebugString() const = 0;
};

// One element of a resource tensor. `container` and `name` say where the store keeps it, for
// messages.
struct ResourceHandle {
  std::shared_ptr<Resource> resource;
  std::string container;
  std::string name;
};

// One element of a variant tensor: an immutable value such as a TensorList.
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  virtual std::string DebugString() const = 0;
};

// Values may hold tensors of values, which a client may nest as deeply as it likes: they end one
// after the other, not one inside the other.
struct Variant {
  Variant() = default;
  Variant(std::shared_ptr<const VariantValue> value) : value(std::move(value)) {}
  Variant(const Variant&) = default;
  Variant(Variant&&) = default;
  Variant& operator=(Variant other) {
    value.swap(other.value);
    return *this;
  }
  ~Variant() {
    if (value.use_count() == 1) End(std::move(value));
  }

  std::shared_ptr<const VariantValue> value;

 private:
  static void End(std::shared_ptr<const VariantValue> value);
};

template <>
struct DTypeOf<ResourceHandle> {
  static constexpr DType value = DType::kResource;
};
template <>
struct DTypeOf<Variant> {
  static constexpr DType value = DType::kVariant;
};

}  // namespace carillon
