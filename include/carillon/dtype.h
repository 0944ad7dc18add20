// Element types: the enum with TensorFlow's numbers, the two 16-bit floats, and the map between C++
// types and DTypes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace carillon {

enum class DType : int32_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
};

// Short spellings for graph-building code: Placeholder(g, kFloat, {-1, 784}).
inline constexpr DType kFloat = DType::kFloat;
inline constexpr DType kDouble = DType::kDouble;
inline constexpr DType kInt32 = DType::kInt32;
inline constexpr DType kInt64 = DType::kInt64;
inline constexpr DType kUint8 = DType::kUint8;
inline constexpr DType kBool = DType::kBool;
inline constexpr DType kString = DType::kString;

// "float", "int32", … as TensorFlow prints them; "invalid" for kInvalid.
const char* DTypeName(DType dtype);
// The inverse; kInvalid for an unknown name.
DType DTypeFromName(std::string_view name);

// Bytes of one element in memory. Strings, resources and variants are C++ objects; 0 for kInvalid.
size_t DTypeSize(DType dtype);

bool IsFloating(DType dtype);  // half, bfloat16, float, double
bool IsInteger(DType dtype);   // signed and unsigned integers, not bool
// True when the elements are plain bytes that memcpy may move (all but string, resource and
// variant).
bool IsPlainData(DType dtype);

namespace internal {
uint16_t FloatToHalfBits(float value);
float HalfBitsToFloat(uint16_t bits);
inline float Bfloat16BitsToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}
inline uint16_t FloatToBfloat16Bits(float value) {
  uint32_t wide;
  std::memcpy(&wide, &value, sizeof wide);
  if ((wide & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((wide >> 16) | 0x40u);                        // quiet NaN
  return static_cast<uint16_t>((wide + 0x7fffu + ((wide >> 16) & 1u)) >> 16);  // to nearest even
}
}  // namespace internal

// IEEE binary16. Storage only: arithmetic happens in float.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float value) : bits(internal::FloatToHalfBits(value)) {}  // NOLINT: converts like a number
  operator float() const { return internal::HalfBitsToFloat(bits); }
};

// The upper half of a float. Storage only: arithmetic happens in float.
struct Bfloat16 {
  uint16_t bits = 0;
  Bfloat16() = default;
  Bfloat16(float value)
      : bits(internal::FloatToBfloat16Bits(value)) {}  // NOLINT: converts like a number
  operator float() const { return internal::Bfloat16BitsToFloat(bits); }
};

template <typename T>
struct DTypeOf;  // DTypeOf<float>::value == DType::kFloat

#define CARILLON_DTYPE(type, name)              \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  }
CARILLON_DTYPE(float, kFloat);
CARILLON_DTYPE(double, kDouble);
CARILLON_DTYPE(int32_t, kInt32);
CARILLON_DTYPE(uint8_t, kUint8);
CARILLON_DTYPE(int16_t, kInt16);
CARILLON_DTYPE(int8_t, kInt8);
CARILLON_DTYPE(std::string, kString);
CARILLON_DTYPE(int64_t, kInt64);
CARILLON_DTYPE(bool, kBool);
CARILLON_DTYPE(Bfloat16, kBfloat16);
CARILLON_DTYPE(uint16_t, kUint16);
CARILLON_DTYPE(Half, kHalf);
CARILLON_DTYPE(uint32_t, kUint32);
CARILLON_DTYPE(uint64_t, kUint64);
#undef CARILLON_DTYPE

template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

}  // namespace carillon
