// From a DType at run time to a C++ type at compile time.
//
//   DispatchNumber(tensor.dtype(), [&]<typename T>() { … });
#pragma once

#include <string>
#include <utility>

#include "carillon/dtype.h"
#include "tensor/object.h"

namespace carillon {

// Each calls body.template operator()<T>() and returns true, or returns false when the dtype is not
// in its set.

template <typename... Types, typename Body>
bool DispatchAmong(DType dtype, Body&& body) {
  return ((dtype == kDTypeOf<Types> ? (body.template operator()<Types>(), true) : false) || ...);
}

template <typename Body>
bool DispatchFloating(DType dtype, Body&& body) {
  return DispatchAmong<float, double, Half, Bfloat16>(dtype, body);
}

template <typename Body>
bool DispatchInteger(DType dtype, Body&& body) {
  return DispatchAmong<int32_t, int64_t, uint8_t, int8_t, int16_t, uint16_t, uint32_t, uint64_t>(
      dtype, body);
}

// Floating and integer types.
template <typename Body>
bool DispatchNumber(DType dtype, Body&& body) {
  return DispatchFloating(dtype, body) || DispatchInteger(dtype, body);
}

// Numbers and bool.
template <typename Body>
bool DispatchPlain(DType dtype, Body&& body) {
  return DispatchNumber(dtype, body) || DispatchAmong<bool>(dtype, body);
}

// Everything that a tensor can hold.
template <typename Body>
bool DispatchAnyType(DType dtype, Body&& body) {
  return DispatchPlain(dtype, body) ||
         DispatchAmong<std::string, ResourceHandle, Variant>(dtype, body);
}

// For kernels that only move elements: one instantiation per element size instead of one per dtype.
// `body` is called with uint8_t, uint16_t, uint32_t or uint64_t for plain data and with the real
// type for string, resource and variant.
template <typename Body>
bool DispatchBySize(DType dtype, Body&& body) {
  if (!IsPlainData(dtype)) return DispatchAmong<std::string, ResourceHandle, Variant>(dtype, body);
  switch (DTypeSize(dtype)) {
    case 1:
      body.template operator()<uint8_t>();
      return true;
    case 2:
      body.template operator()<uint16_t>();
      return true;
    case 4:
      body.template operator()<uint32_t>();
      return true;
    case 8:
      body.template operator()<uint64_t>();
      return true;
    default:
      return false;
  }
}

}  // namespace carillon
