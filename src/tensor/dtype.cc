#include "carillon/dtype.h"

#include <array>
#include <bit>
#include <utility>

#include "tensor/object.h"

namespace carillon {
namespace {

struct Row {
  DType dtype;
  const char* name;
  size_t size;
};

constexpr std::array<Row, 16> kRows = {{
    {DType::kFloat, "float", 4},
    {DType::kDouble, "double", 8},
    {DType::kInt32, "int32", 4},
    {DType::kUint8, "uint8", 1},
    {DType::kInt16, "int16", 2},
    {DType::kInt8, "int8", 1},
    {DType::kString, "string", sizeof(std::string)},
    {DType::kInt64, "int64", 8},
    {DType::kBool, "bool", sizeof(bool)},
    {DType::kBfloat16, "bfloat16", 2},
    {DType::kUint16, "uint16", 2},
    {DType::kHalf, "half", 2},
    {DType::kResource, "resource", sizeof(ResourceHandle)},
    {DType::kVariant, "variant", sizeof(Variant)},
    {DType::kUint32, "uint32", 4},
    {DType::kUint64, "uint64", 8},
}};

constexpr auto kSizes = [] {
  std::array<size_t, 24> sizes{};
  for (const Row& row : kRows) sizes[static_cast<size_t>(row.dtype)] = row.size;
  return sizes;
}();

}  // namespace

const char* DTypeName(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row.name;
  }
  return "invalid";
}

DType DTypeFromName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return DType::kInvalid;
}

size_t DTypeSize(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return index < kSizes.size() ? kSizes[index] : 0;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf ||
         dtype == DType::kBfloat16;
}

bool IsInteger(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
      return true;
    default:
      return false;
  }
}

bool IsPlainData(DType dtype) {
  return dtype != DType::kString && dtype != DType::kResource && dtype != DType::kVariant &&
         DTypeSize(dtype) != 0;
}

namespace internal {

uint16_t FloatToHalfBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {  // subnormal half: let the FPU round to a multiple of 2^-24
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);  // to nearest even
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float HalfBitsToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(subnormal) | sign);
}

}  // namespace internal
}  // namespace carillon
