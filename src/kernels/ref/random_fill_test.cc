#include "kernels/ref/random_fill.h"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

#include "base/parallel.h"

namespace carillon {
namespace {

std::vector<uint32_t> FloatBits(Distribution distribution, const Philox& philox, int64_t n) {
  Tensor out(kFloat, Shape{n});
  EXPECT_TRUE(FillRandom(distribution, philox, out));
  std::vector<uint32_t> bits;
  for (const float value : out.values<float>()) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// The numbers of TensorFlow 2.21 on a CPU for seed=1, seed2=2.
TEST(RandomFill, GivesTensorFlowsNumbers) {
  const Philox philox = Philox::FromSeeds(1, 2);
  EXPECT_EQ(FloatBits(Distribution::kUniform, philox, 3),
            (std::vector<uint32_t>{0x3ed0133c, 0x3f5b8ba6, 0x3d62e6c0}));
  EXPECT_EQ(FloatBits(Distribution::kNormal, philox, 3),
            (std::vector<uint32_t>{0xbf85fcdd, 0x3f56f6e1, 0x3f9e2fe3}));
  EXPECT_EQ(FloatBits(Distribution::kTruncatedNormal, philox, 5),
            (std::vector<uint32_t>{0xbf85fcdd, 0x3f56f6e1, 0x3f9e2fe3, 0x3e9b842a, 0x3ec7027f}));

  Tensor doubles(kDouble, Shape{3});
  FillRandom(Distribution::kNormal, philox, doubles);
  EXPECT_EQ(std::bit_cast<uint64_t>(doubles.data<double>()[0]), 0x3fe298089076cdd3u);
  EXPECT_EQ(std::bit_cast<uint64_t>(doubles.data<double>()[2]), 0x3ff8e4f44037f289u);

  Tensor ints(kInt32, Shape{4});
  FillRandomInt(0, 100, philox, ints);
  EXPECT_EQ(std::vector<int32_t>(ints.data<int32_t>(), ints.data<int32_t>() + 4),
            (std::vector<int32_t>{99, 15, 2, 9}));
}

TEST(RandomFill, ScramblesStatelessSeedsLikeTensorFlow) {
  const Philox philox = Philox::FromStatelessSeed(3, 4);
  EXPECT_EQ(FloatBits(Distribution::kUniform, philox, 2),
            (std::vector<uint32_t>{1048125528, 1065076498}));
  Tensor full(DType::kUint64, Shape{2});
  ASSERT_TRUE(FillRandomFullInt(philox, full));
  EXPECT_EQ(full.data<uint64_t>()[0], 15563846067247064075u);
  EXPECT_EQ(full.data<uint64_t>()[1], 4520458231610095266u);
}

TEST(RandomFill, CoversTheWholeRangeOfIntegers) {
  Tensor ints(kInt64, Shape{1000});
  FillRandomInt(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                Philox(1, 0, 0), ints);
  int negative = 0;
  for (const int64_t value : ints.values<int64_t>()) negative += value < 0;
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
}

TEST(RandomFill, DoesNotDependOnTheNumberOfThreads) {
  const int threads = KernelThreads();
  for (const DType dtype : {kFloat, kDouble, DType::kHalf, DType::kBfloat16}) {
    for (const auto distribution :
         {Distribution::kUniform, Distribution::kNormal, Distribution::kTruncatedNormal}) {
      Tensor alone(dtype, Shape{30011}), together(dtype, Shape{30011});
      SetKernelThreads(1);
      FillRandom(distribution, Philox(4, 5, 6), alone);
      SetKernelThreads(3);
      FillRandom(distribution, Philox(4, 5, 6), together);
      EXPECT_EQ(std::memcmp(alone.raw_data(), together.raw_data(), alone.num_bytes()), 0);
    }
  }
  SetKernelThreads(threads);
}

TEST(RandomFill, DeclinesOtherTypes) {
  Tensor strings(kString, Shape{2}), floats(kFloat, Shape{2});
  EXPECT_FALSE(FillRandom(Distribution::kUniform, Philox(), strings));
  EXPECT_FALSE(FillRandomInt(0, 2, Philox(), floats));
  EXPECT_FALSE(FillRandomFullInt(Philox(), floats));
}

}  // namespace
}  // namespace carillon
