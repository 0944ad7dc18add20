#include "kernels/philox.h"

#include <bit>
#include <cstring>

namespace carillon {
namespace {

constexpr uint64_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
constexpr int kRounds = 10;
constexpr uint64_t kLowWord = 0xffffffffu;

// One block in place. The words sit in 64-bit integers whose upper halves are ignored and left with
// rubbish: that way a loop over blocks becomes vector code without any shuffling.
inline void Mix(uint64_t key, uint64_t& x0, uint64_t& x1, uint64_t& x2, uint64_t& x3) {
  uint32_t key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = (x0 & kLowWord) * kMultiplier0;
    const uint64_t product1 = (x2 & kLowWord) * kMultiplier1;
    x0 = (product1 >> 32) ^ x1 ^ key0;
    x1 = product1;
    x2 = (product0 >> 32) ^ x3 ^ key1;
    x3 = product0;
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
}

}  // namespace

Philox Philox::FromStatelessSeed(uint64_t seed0, uint64_t seed1) {
  const Block mixed = Philox(0x02461e293ec8f720u, seed0, seed1).Next();
  return {mixed[0] | uint64_t{mixed[1]} << 32, 0, mixed[2] | uint64_t{mixed[3]} << 32};
}

Philox::Block Philox::Next() {
  uint64_t x0 = low_, x1 = low_ >> 32, x2 = high_, x3 = high_ >> 32;
  Mix(key_, x0, x1, x2, x3);
  Skip(1);
  return {static_cast<uint32_t>(x0), static_cast<uint32_t>(x1), static_cast<uint32_t>(x2),
          static_cast<uint32_t>(x3)};
}

void Philox::Generate(int64_t blocks, uint32_t* words) {
  static_assert(std::endian::native == std::endian::little);
  constexpr int kLanes = 16;
  alignas(64) uint64_t front[kLanes], back[kLanes];  // words 0 and 1, words 2 and 3 of each block
  for (; blocks >= kLanes; blocks -= kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t low = low_ + static_cast<uint64_t>(i);
      const uint64_t high = high_ + (low < low_ ? 1 : 0);
      uint64_t x0 = low, x1 = low >> 32, x2 = high, x3 = high >> 32;
      Mix(key_, x0, x1, x2, x3);
      front[i] = (x0 & kLowWord) | x1 << 32;
      back[i] = (x2 & kLowWord) | x3 << 32;
    }
    for (int i = 0; i < kLanes; ++i, words += 4) {
      std::memcpy(words, &front[i], sizeof front[i]);
      std::memcpy(words + 2, &back[i], sizeof back[i]);
    }
    Skip(kLanes);
  }
  for (; blocks > 0; --blocks) {
    for (const uint32_t word : Next()) *words++ = word;
  }
}

}  // namespace carillon
