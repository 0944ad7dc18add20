#include "data/digits.h"

#include <array>

#include "base/parallel.h"
#include "carillon/data.h"
#include "data/strokes.h"
#include "data/test_util.h"

namespace carillon {
namespace {

TEST(DigitsTest, AreTheSameWhateverTheNumberOfThreadsAndSamples) {
  const int threads = KernelThreads();
  SetKernelThreads(1);
  const DataSplits alone = DrawDigits({.train_size = 500, .test_size = 100});
  SetKernelThreads(4);
  const DataSplits together = DrawDigits({.train_size = 900, .test_size = 300});
  SetKernelThreads(threads);
  EXPECT_EQ(std::memcmp(alone.train.images.raw_data(), together.train.images.raw_data(), 500 * 784),
            0);
  EXPECT_EQ(std::memcmp(alone.train.labels.raw_data(), together.train.labels.raw_data(), 500 * 8),
            0);
  EXPECT_EQ(std::memcmp(alone.test.images.raw_data(), together.test.images.raw_data(), 100 * 784),
            0);
}

TEST(DigitsTest, AnotherSeedAndTheTestSetAreOtherDigits) {
  const DataSplits one = DrawDigits({.train_size = 100, .test_size = 100, .seed = 1});
  const DataSplits two = DrawDigits({.train_size = 100, .test_size = 100, .seed = 2});
  EXPECT_NE(std::memcmp(one.train.images.raw_data(), two.train.images.raw_data(), 78400), 0);
  EXPECT_NE(std::memcmp(one.train.images.raw_data(), one.test.images.raw_data(), 78400), 0);
}

TEST(DigitsTest, HaveTheShapeOfMnist) {
  const DataSplits digits = LoadDataset("digits");
  EXPECT_EQ(digits.train.images.shape(), (Shape{60'000, 28, 28, 1}));
  EXPECT_EQ(digits.test.images.shape(), (Shape{10'000, 28, 28, 1}));
  EXPECT_EQ(digits.train.name, "digits train");
  EXPECT_EQ(digits.train.num_classes(), 10);
  std::array<int, 10> counts{};
  for (const int64_t label : digits.train.labels.values<int64_t>()) {
    ASSERT_GE(label, 0);
    ASSERT_LT(label, 10);
    ++counts[static_cast<size_t>(label)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 6000, 400);
}

TEST(DigitsTest, PicturesHaveInkOnDarkPaper) {
  const Dataset digits = DrawDigits({.train_size = 2000, .test_size = 0}).train;
  int64_t ink_at_edge = 0, ink_inside = 0;
  for (int64_t i = 0; i < digits.size(); ++i) {
    const uint8_t* picture = digits.images.data<uint8_t>() + i * kDigitPixels;
    int bright = 0;
    for (int y = 0; y < 28; ++y) {
      for (int x = 0; x < 28; ++x) {
        if (picture[y * 28 + x] < 140) continue;
        ++bright;
        const bool edge = x < 2 || x >= 26 || y < 2 || y >= 26;
        (edge ? ink_at_edge : ink_inside) += 1;
      }
    }
    EXPECT_GT(bright, 8) << "sample " << i << " is blank";
    EXPECT_LT(bright, 350) << "sample " << i << " is flooded";
  }
  EXPECT_LT(ink_at_edge * 10, ink_inside) << "most ink belongs to the digit in the middle";
}

// The nearest mean picture tells most digits, and by far not all: shapes differ between classes and
// vary within them.
TEST(DigitsTest, AreNeitherNoiseNorPrint) {
  const DataSplits digits = DrawDigits({.train_size = 5000, .test_size = 1000});
  std::vector<std::array<double, kDigitPixels>> means(10);
  std::array<int, 10> counts{};
  for (int64_t i = 0; i < digits.train.size(); ++i) {
    const auto label = static_cast<size_t>(digits.train.labels.data<int64_t>()[i]);
    ++counts[label];
    for (size_t p = 0; p < kDigitPixels; ++p) {
      means[label][p] +=
          digits.train.images.data<uint8_t>()[static_cast<size_t>(i) * kDigitPixels + p];
    }
  }
  int right = 0;
  for (int64_t i = 0; i < digits.test.size(); ++i) {
    double best = 1e300;
    int64_t guess = -1;
    for (size_t c = 0; c < 10; ++c) {
      double distance = 0;
      for (size_t p = 0; p < kDigitPixels; ++p) {
        const double pixel =
            digits.test.images.data<uint8_t>()[static_cast<size_t>(i) * kDigitPixels + p];
        const double difference = pixel - means[c][p] / counts[c];
        distance += difference * difference;
      }
      if (distance < best) best = distance, guess = static_cast<int64_t>(c);
    }
    right += guess == digits.test.labels.data<int64_t>()[i];
  }
  EXPECT_GT(right, 500);
  EXPECT_LT(right, 900);
}

TEST(DigitsTest, RefuseNegativeSizes) {
  EXPECT_THROW(DrawDigits({.train_size = -1}), Error);
  EXPECT_EQ(DrawDigits({.train_size = 0, .test_size = 0}).train.size(), 0);
}

TEST(StrokesTest, StayInTheirBox) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(WaysToWrite(digit).size(), 2u);
    for (const Handwriting& way : WaysToWrite(digit)) {
      for (const PenStroke& stroke : way) {
        EXPECT_GE(stroke.points.size(), 2u);
        EXPECT_LE(stroke.points.size(), 16u);
        for (const PenPoint& point : stroke.points) {
          EXPECT_LE(std::abs(point.x), 0.5f) << digit;
          EXPECT_LE(std::abs(point.y), 0.5f) << digit;
        }
      }
    }
  }
}

}  // namespace
}  // namespace carillon
