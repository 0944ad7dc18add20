// The transpose of a small square of elements inside vector registers.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace carillon {

// kSize x kSize elements: a row is one vector register.
template <typename T>
class TransposeTile {
 public:
  static constexpr int kBytes = sizeof(T) >= 4 ? 64 : 16;
  static constexpr int kSize = kBytes / static_cast<int>(sizeof(T));

  // Rows of `from` lie from_stride elements apart and become the columns of `to`.
  static void Run(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
    Row rows[kSize];
    for (int i = 0; i < kSize; ++i) std::memcpy(&rows[i], from + i * from_stride, kBytes);
    // Interleaving row i with row i + kSize / 2, once for each bit of the index, turns the bits of
    // the row index into those of the column index.
    for (int round = 1; round < kSize; round *= 2) {
      Row mixed[kSize];
      for (int i = 0; i < kSize / 2; ++i) {
        mixed[2 * i] = Interleave(rows[i], rows[i + kSize / 2], std::make_index_sequence<kSize>(),
                                  std::integral_constant<int, 0>());
        mixed[2 * i + 1] =
            Interleave(rows[i], rows[i + kSize / 2], std::make_index_sequence<kSize>(),
                       std::integral_constant<int, kSize / 2>());
      }
      std::memcpy(rows, mixed, sizeof rows);
    }
    for (int i = 0; i < kSize; ++i) std::memcpy(to + i * to_stride, &rows[i], kBytes);
  }

 private:
  typedef T Row __attribute__((vector_size(kBytes)));

  // a[first], b[first], a[first + 1], b[first + 1], …
  template <size_t... k, int first>
  static Row Interleave(Row a, Row b, std::index_sequence<k...>,
                        std::integral_constant<int, first>) {
    return __builtin_shufflevector(a, b,
                                   (first + static_cast<int>(k) / 2 + (k % 2 == 1 ? kSize : 0))...);
  }
};

}  // namespace carillon
