#include "kernels/ref/random_fill.h"

#include <algorithm>
#include <type_traits>

#include "base/parallel.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

constexpr int64_t kBlocksPerChunk = 64;    // generated at once, on the stack
constexpr int64_t kBlocksPerThread = 512;  // fewer are not worth a thread

// Distributions of which each block gives a fixed number of values. Convert has
//   kWords:  how many words it takes at a time (a divisor of 4), and
//   operator()(const uint32_t* words, T* values): which makes kValues of them.
template <typename T, typename Convert>
void FillFromBlocks(const Philox& philox, const Convert& convert, Tensor& out) {
  constexpr int64_t kValuesPerBlock = 4 / Convert::kWords * Convert::kValues;
  T* const values = out.mutable_data<T>();
  const int64_t n = out.num_elements();
  const int64_t blocks = (n + kValuesPerBlock - 1) / kValuesPerBlock;
  ParallelFor(blocks, kBlocksPerThread, [&](int64_t begin, int64_t end) {
    Philox local = philox;
    local.Skip(static_cast<uint64_t>(begin));
    uint32_t words[4 * kBlocksPerChunk];
    for (int64_t block = begin; block < end; block += kBlocksPerChunk) {
      const int64_t count = std::min(kBlocksPerChunk, end - block);
      local.Generate(count, words);
      T* const target = values + block * kValuesPerBlock;
      const int64_t wanted = std::min(count * kValuesPerBlock, n - block * kValuesPerBlock);
      const int64_t whole = wanted / Convert::kValues;
      for (int64_t i = 0; i < whole; ++i) {
        convert(words + i * Convert::kWords, target + i * Convert::kValues);
      }
      if (const int64_t rest = wanted % Convert::kValues; rest > 0) {
        T last[Convert::kValues];
        convert(words + whole * Convert::kWords, last);
        std::copy_n(last, rest, target + whole * Convert::kValues);
      }
    }
  });
}

template <typename T>
struct Uniform {
  static constexpr int kWords = 1, kValues = 1;
  void operator()(const uint32_t* words, T* values) const {
    if constexpr (std::is_same_v<T, Half>) {
      values[0] = static_cast<float>(words[0] & 0x3ffu) * 0x1p-10f;
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
      values[0] = static_cast<float>(words[0] & 0x7fu) * 0x1p-7f;
    } else {
      values[0] = UniformFloat(words[0]);
    }
  }
};

template <>
struct Uniform<double> {
  static constexpr int kWords = 2, kValues = 1;
  void operator()(const uint32_t* words, double* values) const {
    values[0] = UniformDouble(words[0], words[1]);
  }
};

template <typename T>
struct Normal {
  static constexpr int kWords = 2, kValues = 2;
  void operator()(const uint32_t* words, T* values) const {
    const auto [first, second] = NormalFloats(words[0], words[1]);
    values[0] = first;
    values[1] = second;
  }
};

template <>
struct Normal<double> {
  static constexpr int kWords = 4, kValues = 2;
  void operator()(const uint32_t* words, double* values) const {
    const auto [first, second] = NormalDoubles(words[0], words[1], words[2], words[3]);
    values[0] = first;
    values[1] = second;
  }
};

template <typename T>
struct UniformInt {
  using Unsigned = std::make_unsigned_t<T>;
  static constexpr int kWords = sizeof(T) / 4, kValues = 1;
  Unsigned lo, range;  // the sum wraps around to the right signed value
  void operator()(const uint32_t* words, T* values) const {
    Unsigned bits = words[0];
    if constexpr (sizeof(T) == 8) bits |= Unsigned{words[1]} << 32;
    values[0] = static_cast<T>(lo + bits % range);
  }
};

template <typename T>
struct FullInt {
  static constexpr int kWords = sizeof(T) / 4, kValues = 1;
  void operator()(const uint32_t* words, T* values) const {
    if constexpr (sizeof(T) == 8) {
      values[0] = static_cast<T>(words[0] | uint64_t{words[1]} << 32);
    } else {
      values[0] = static_cast<T>(words[0]);
    }
  }
};

// Each group of values has its own stretch of the sequence, long enough that rejected numbers do
// not eat into the next one's.
template <typename T>
void FillTruncatedNormal(const Philox& philox, Tensor& out) {
  constexpr int64_t kGroup = std::is_same_v<T, double> ? 2 : 4;
  constexpr uint64_t kBlocksPerGroup = kGroup * 256 / 4;
  T* const values = out.mutable_data<T>();
  const int64_t n = out.num_elements();
  ParallelFor((n + kGroup - 1) / kGroup, 64, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      Philox local = philox;
      local.Skip(static_cast<uint64_t>(group) * kBlocksPerGroup);
      PhiloxWords words(local);
      T* target = values + group * kGroup;
      T* const stop = values + std::min(n, (group + 1) * kGroup);
      const auto accept = [&](auto value) {
        if (target != stop && std::abs(value) < 2) *target++ = value;
      };
      while (target != stop) {
        const uint32_t word0 = words.Next(), word1 = words.Next();
        if constexpr (std::is_same_v<T, double>) {
          const uint32_t word2 = words.Next(), word3 = words.Next();
          for (const double value : NormalDoubles(word0, word1, word2, word3)) accept(value);
        } else {
          for (const float value : NormalFloats(word0, word1)) accept(value);
        }
      }
    }
  });
}

}  // namespace

bool FillRandom(Distribution distribution, const Philox& philox, Tensor& out) {
  return DispatchFloating(out.dtype(), [&]<typename T>() {
    switch (distribution) {
      case Distribution::kUniform:
        FillFromBlocks<T>(philox, Uniform<T>(), out);
        break;
      case Distribution::kNormal:
        FillFromBlocks<T>(philox, Normal<T>(), out);
        break;
      case Distribution::kTruncatedNormal:
        FillTruncatedNormal<T>(philox, out);
        break;
    }
  });
}

bool FillRandomInt(int64_t lo, int64_t hi, const Philox& philox, Tensor& out) {
  return DispatchAmong<int32_t, int64_t>(out.dtype(), [&]<typename T>() {
    using Unsigned = std::make_unsigned_t<T>;
    const UniformInt<T> convert{static_cast<Unsigned>(lo),
                                static_cast<Unsigned>(hi) - static_cast<Unsigned>(lo)};
    FillFromBlocks<T>(philox, convert, out);
  });
}

bool FillRandomFullInt(const Philox& philox, Tensor& out) {
  return DispatchAmong<int32_t, int64_t, uint32_t, uint64_t>(
      out.dtype(), [&]<typename T>() { FillFromBlocks<T>(philox, FullInt<T>(), out); });
}

}  // namespace carillon
