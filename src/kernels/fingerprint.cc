#include "kernels/fingerprint.h"

#include <bit>
#include <cstring>
#include <utility>

namespace carillon {
namespace {

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
uint64_t Load64(const char* at) { return Load<uint64_t>(at); }

constexpr uint64_t k0 = 0xc3a5c85c97cb3127u;
constexpr uint64_t k1 = 0xb492b66fbe98f273u;
constexpr uint64_t k2 = 0x9ae16a3b2f90404fu;

uint64_t Fold(uint64_t value) { return value ^ (value >> 47); }

uint64_t Mix(uint64_t u, uint64_t v, uint64_t multiplier) {
  const uint64_t a = Fold((u ^ v) * multiplier);
  return Fold((v ^ a) * multiplier) * multiplier;
}

using Pair = std::pair<uint64_t, uint64_t>;

// 32 bytes and two seeds into two numbers.
Pair MixBlock(const char* at, uint64_t a, uint64_t b) {
  const uint64_t first = Load64(at), last = Load64(at + 24);
  a += first;
  b = std::rotr(b + a + last, 21);
  const uint64_t before = a;
  a += Load64(at + 8) + Load64(at + 16);
  b += std::rotr(a, 44);
  return {a + last, b + before};
}

uint64_t Upto16(const char* s, size_t n) {
  const uint64_t multiplier = k2 + n * 2;
  if (n >= 8) {
    const uint64_t a = Load64(s) + k2, b = Load64(s + n - 8);
    return Mix(std::rotr(b, 37) * multiplier + a, (std::rotr(a, 25) + b) * multiplier, multiplier);
  }
  if (n >= 4) {
    return Mix(n + (uint64_t{Load<uint32_t>(s)} << 3), Load<uint32_t>(s + n - 4), multiplier);
  }
  if (n == 0) return k2;
  const auto byte = [&](size_t i) { return uint32_t{static_cast<unsigned char>(s[i])}; };
  const uint32_t y = byte(0) + (byte(n / 2) << 8);
  const uint32_t z = static_cast<uint32_t>(n) + (byte(n - 1) << 2);
  return Fold(y * k2 ^ z * k0) * k2;
}

uint64_t Upto32(const char* s, size_t n) {
  const uint64_t multiplier = k2 + n * 2;
  const uint64_t a = Load64(s) * k1, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * multiplier, d = Load64(s + n - 16) * k2;
  return Mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c,
             multiplier);
}

uint64_t Upto64(const char* s, size_t n) {
  const uint64_t multiplier = k2 + n * 2;
  const uint64_t a = Load64(s) * k2, b = Load64(s + 8);
  const uint64_t c = Load64(s + n - 8) * multiplier, d = Load64(s + n - 16) * k2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = Mix(y, a + std::rotr(b + k2, 18) + c, multiplier);
  const uint64_t e = Load64(s + 16) * multiplier, f = Load64(s + 24);
  const uint64_t g = (y + Load64(s + n - 32)) * multiplier;
  const uint64_t h = (z + Load64(s + n - 24)) * multiplier;
  return Mix(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, multiplier);
}

uint64_t Long(const char* s, size_t n) {
  constexpr uint64_t kSeed = 81;
  uint64_t x = kSeed * k2 + Load64(s), y = kSeed * k1 + 113, z = Fold(y * k2 + 113) * k2;
  Pair v{0, 0}, w{0, 0};
  const size_t rest = (n - 1) & 63;
  const char* end = s + (n - 1) / 64 * 64;
  const auto round = [&](uint64_t multiplier, uint64_t weight) {
    x = std::rotr(x + y + v.first + Load64(s + 8), 37) * multiplier;
    y = std::rotr(y + v.second + Load64(s + 48), 42) * multiplier;
    x ^= w.second * weight;
    y += v.first * weight + Load64(s + 40);
    z = std::rotr(z + w.first, 33) * multiplier;
    v = MixBlock(s, v.second * multiplier, x + w.first);
    w = MixBlock(s + 32, z + w.second, y + Load64(s + 16));
    std::swap(z, x);
  };
  for (; s != end; s += 64) round(k1, 1);
  const uint64_t multiplier = k1 + ((z & 0xff) << 1);
  s = end + rest - 63;  // the last 64 bytes
  w.first += rest;
  v.first += w.first;
  w.first += v.first;
  round(multiplier, 9);
  return Mix(Mix(v.first, w.first, multiplier) + Fold(y) * k0 + z,
             Mix(v.second, w.second, multiplier) + x, multiplier);
}

// The last, incomplete 8 bytes of a text, the first byte lowest.
uint64_t Tail(std::string_view text) {
  uint64_t value = 0;
  std::memcpy(&value, text.data() + text.size() / 8 * 8, text.size() % 8);
  return value;
}

}  // namespace

uint64_t Fingerprint64(std::string_view text) {
  const char* s = text.data();
  if (text.size() <= 16) return Upto16(s, text.size());
  if (text.size() <= 32) return Upto32(s, text.size());
  if (text.size() <= 64) return Upto64(s, text.size());
  return Long(s, text.size());
}

uint64_t SipHash(const std::array<uint64_t, 2>& key, std::string_view text) {
  uint64_t v0 = key[0] ^ 0x736f6d6570736575u, v1 = key[1] ^ 0x646f72616e646f6du;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261u, v3 = key[1] ^ 0x7465646279746573u;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto take = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  for (size_t i = 0; i + 8 <= text.size(); i += 8) take(Load64(text.data() + i));
  take(Tail(text) | uint64_t{text.size()} << 56);
  v2 ^= 0xff;
  rounds(4);
  return v0 ^ v1 ^ v2 ^ v3;
}

uint64_t Murmur64(std::string_view text) {
  constexpr uint64_t kMultiplier = 0xc6a4a7935bd1e995u, kSeed = 0xDECAFCAFFEu;
  uint64_t hash = kSeed ^ (text.size() * kMultiplier);
  for (size_t i = 0; i + 8 <= text.size(); i += 8) {
    uint64_t word = Load64(text.data() + i) * kMultiplier;
    word ^= word >> 47;
    hash = (hash ^ (word * kMultiplier)) * kMultiplier;
  }
  if (text.size() % 8 != 0) hash = (hash ^ Tail(text)) * kMultiplier;
  hash = Fold(hash) * kMultiplier;
  return Fold(hash);
}

}  // namespace carillon
