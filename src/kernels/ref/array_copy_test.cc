#include "kernels/ref/array_copy.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"

namespace carillon {
namespace {

// Element by element, straight from the definition.
template <typename T>
void CopyPlainly(const T* from, T* to, std::span<const CopyDim> dims) {
  if (dims.empty()) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < dims[0].size; ++i)
    CopyPlainly(from + i * dims[0].from, to + i * dims[0].to, dims.subspan(1));
}

template <typename T>
T Element(int64_t i) {
  if constexpr (std::is_same_v<T, std::string>) {
    return "element " + std::to_string(i);
  } else {
    return static_cast<T>(i);
  }
}

// `dims` with the destination's strides row-major, read from a source of `source` elements at
// `offset`.
template <typename T>
void Check(CopyDims dims, int64_t source, int64_t offset) {
  int64_t count = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    dims[i].to = count;
    count *= dims[i].size;
  }
  std::vector<T> from, got(static_cast<size_t>(count) + 1), wanted(static_cast<size_t>(count) + 1);
  for (int64_t i = 0; i < source; ++i) from.push_back(Element<T>(i));
  got.back() = wanted.back() = Element<T>(77);  // nothing is written behind the end
  CopyPlainly(from.data() + offset, wanted.data(), dims);
  for (const int threads : {1, 3}) {
    SetKernelThreads(threads);
    std::fill(got.begin(), got.end() - 1, T{});
    CopyStrided(kDTypeOf<T>, from.data() + offset, got.data(), dims);
    EXPECT_TRUE(got == wanted) << sizeof(T) << " bytes, " << dims.size() << " dimensions";
  }
}

void CheckAll(const CopyDims& dims, int64_t source, int64_t offset = 0) {
  Check<uint8_t>(dims, source, offset);
  Check<uint16_t>(dims, source, offset);
  Check<uint32_t>(dims, source, offset);
  Check<uint64_t>(dims, source, offset);
  Check<std::string>(dims, source, offset);
}

TEST(CopyStrided, TransposesOfEverySize) {
  for (const int64_t rows : {1, 2, 7, 8, 15, 16, 17, 33, 100}) {
    for (const int64_t columns : {1, 3, 8, 16, 31, 64, 130}) {
      CheckAll({{columns, 1, 0}, {rows, columns, 0}}, rows * columns);
      // With a batch, and with runs inside.
      CheckAll({{2, rows * columns, 0}, {columns, 1, 0}, {rows, columns, 0}}, 2 * rows * columns);
      CheckAll({{columns, 2, 0}, {rows, 2 * columns, 0}, {2, 1, 0}}, 2 * rows * columns);
    }
  }
}

TEST(CopyStrided, RepeatsAndReverses) {
  CheckAll({{5, 0, 0}, {3, 1, 0}}, 3);
  CheckAll({{5, 1, 0}, {40, 0, 0}}, 5);
  CheckAll({{50, -1, 0}}, 50, 49);
  CheckAll({{20, 3, 0}, {3, -1, 0}}, 60, 2);
  CheckAll({{20, -3, 0}, {3, 1, 0}}, 60, 57);
}

TEST(CopyStrided, NothingAndOne) {
  CheckAll({}, 1);
  CheckAll({{1, 9, 0}}, 1);
  CheckAll({{0, 1, 0}, {4, 1, 0}}, 1);
  CheckAll({{4, 1, 0}, {0, 1, 0}}, 1);
}

TEST(CopyStrided, LargeOnesOnSeveralThreads) {
  CheckAll({{300, 400, 0}, {400, 1, 0}}, 300 * 400);
  CheckAll({{400, 1, 0}, {300, 400, 0}}, 300 * 400);
  CheckAll({{300, 400, 0}, {200, 2, 0}}, 300 * 400);
  CheckAll({{4000, 0, 0}, {30, 1, 0}}, 30);
}

TEST(CopyStrided, RandomBoxes) {
  std::mt19937 random(5);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  for (int round = 0; round < 200; ++round) {
    CopyDims dims;
    int64_t offset = 0, most = 1;
    for (int64_t rank = 1 + below(5); rank > 0; --rank) {
      const int64_t size = 1 + below(6);
      const int64_t stride = below(40) - 20;
      dims.push_back({size, stride, 0});
      if (stride < 0) offset -= stride * (size - 1);
      most += std::abs(stride) * (size - 1);
    }
    CheckAll(dims, most + 1, offset);
  }
}

TEST(Strides, OfEmptyShapesNeverOverflow) {
  const Shape huge{0, int64_t{1} << 62, int64_t{1} << 62};
  EXPECT_EQ(RowMajorStrides(huge).size(), 3u);
  EXPECT_EQ(ElementsBefore(huge, 1), 0);
}

}  // namespace
}  // namespace carillon
