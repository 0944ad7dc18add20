#include "data/augment.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace carillon {
namespace {

constexpr PictureSize kSize{3, 4, 2};

std::vector<uint8_t> Picture() {
  std::vector<uint8_t> picture;
  for (int i = 0; i < 24; ++i) picture.push_back(static_cast<uint8_t>(i + 1));
  return picture;
}

std::vector<float> Augmented(const Augmentation& augment, uint64_t key) {
  std::vector<float> out(24, -1);
  Augmenter(kSize, augment).Apply(Picture().data(), key, out.data());
  return out;
}

// What the picture is when shifted and mirrored, pixel by pixel.
std::vector<float> Expected(int down, int right, bool flip) {
  const std::vector<uint8_t> picture = Picture();
  std::vector<float> out;
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) {
      for (int c = 0; c < 2; ++c) {
        const int from_y = y + down, from_x = (flip ? 3 - x : x) + right;
        const bool inside = from_y >= 0 && from_y < 3 && from_x >= 0 && from_x < 4;
        out.push_back(inside ? static_cast<float>(
                                   picture[static_cast<size_t>((from_y * 4 + from_x) * 2 + c)]) *
                                   (1 / 255.0f)
                             : 0);
      }
    }
  }
  return out;
}

TEST(AugmentTest, ChangesNothingUnasked) {
  EXPECT_EQ(Augmented({}, 1), Expected(0, 0, false));
  EXPECT_EQ(Augmented({}, 2), Expected(0, 0, false));
}

TEST(AugmentTest, EveryShiftAndFlipOccursAndNothingElse) {
  std::set<std::vector<float>> possible, seen;
  for (int down = -2; down <= 2; ++down) {
    for (int right = -2; right <= 2; ++right) {
      for (const bool flip : {false, true}) possible.insert(Expected(down, right, flip));
    }
  }
  for (uint64_t key = 0; key < 2000; ++key) {
    const std::vector<float> got = Augmented({.pad_crop = 2, .flip = true}, key);
    ASSERT_TRUE(possible.contains(got)) << key;
    EXPECT_EQ(got, Augmented({.pad_crop = 2, .flip = true}, key));
    seen.insert(got);
  }
  EXPECT_EQ(seen, possible);
}

TEST(AugmentTest, FlipsHalfOfThem) {
  int flipped = 0;
  for (uint64_t key = 0; key < 1000; ++key) {
    flipped += Augmented({.flip = true}, key) == Expected(0, 0, true);
  }
  EXPECT_NEAR(flipped, 500, 60);
}

TEST(AugmentTest, StandardisesEachPicture) {
  const std::vector<float> out = Augmented({.standardise = true}, 1);
  double sum = 0, squares = 0;
  for (const float v : out) sum += v, squares += v * v;
  EXPECT_NEAR(sum / 24, 0, 1e-6);
  EXPECT_NEAR(squares / 24, 1, 1e-5);
  EXPECT_NEAR(out[0], -1.6613247, 1e-6);  // what TensorFlow gives
  EXPECT_NEAR(out[2], -1.3723986, 1e-6);
  std::vector<uint8_t> plain(24, 100);
  std::vector<float> flat(24);
  Augmenter(kSize, {.standardise = true}).Apply(plain.data(), 1, flat.data());
  for (const float v : flat) EXPECT_EQ(v, 0) << "a plain picture stays plain";
}

}  // namespace
}  // namespace carillon
