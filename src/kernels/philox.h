// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011):
// a function from a 128-bit counter and a 64-bit key to 128 random bits, so that any part of a
// sequence can be made on any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace carillon {

// A place in the sequence of blocks that a key stands for. A value type: copy it, skip ahead in the
// copy.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  Philox() = default;
  Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high)
      : key_(key), low_(counter_low), high_(counter_high) {}
  // As stateful random ops start from their attributes seed and seed2.
  static Philox FromSeeds(uint64_t seed, uint64_t seed2) { return {seed, 0, seed2}; }
  // As stateless random ops start from the two elements of their seed: scrambled, so that weak
  // seeds do no harm.
  static Philox FromStatelessSeed(uint64_t seed0, uint64_t seed1);

  void Skip(uint64_t blocks) {
    low_ += blocks;
    if (low_ < blocks) ++high_;
  }
  Block Next();
  // The next `blocks` blocks, four words each, one after the other.
  void Generate(int64_t blocks, uint32_t* words);

  uint64_t key() const { return key_; }
  uint64_t counter_low() const { return low_; }
  uint64_t counter_high() const { return high_; }

 private:
  uint64_t key_ = 0;
  uint64_t low_ = 0, high_ = 0;  // the counter
};

// The words of a sequence one at a time.
class PhiloxWords {
 public:
  explicit PhiloxWords(const Philox& from, uint64_t skip_words = 0) : philox_(from) {
    philox_.Skip(skip_words / 4);
    for (uint64_t i = 0; i < skip_words % 4; ++i) Next();
  }
  uint32_t Next() {
    if (used_ == block_.size()) {
      block_ = philox_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }

 private:
  Philox philox_;
  Philox::Block block_{};
  size_t used_ = 4;
};

}  // namespace carillon
