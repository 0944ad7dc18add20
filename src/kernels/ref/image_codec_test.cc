// Pictures from strangers: damage is refused, and never crashes.
#include <gtest/gtest.h>
#include <random>

#include "kernels/kernel_tester.h"
#include "kernels/ref/jpeg_codec.h"
#include "report/png_codec.h"

namespace carillon {
namespace {

std::vector<uint8_t> SomePixels(int64_t width, int64_t height, int channels) {
  std::vector<uint8_t> pixels(static_cast<size_t>(width * height * channels));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 7);
  return pixels;
}

// The shape of the decoded picture; throws Error.
Shape Decode(const std::string& op, const std::string& bytes) {
  const Tensor contents = Tensor::Scalar(bytes);
  return KernelTester(op, {}, {contents}).RunPlain({contents})[0].shape();
}

TEST(ImageCodecTest, DecodesWhatItEncodes) {
  const std::string jpeg =
      EncodeJpegPixels(20, 10, 3, SomePixels(20, 10, 3).data(), {.quality = 90}).value();
  EXPECT_EQ(Decode("DecodeJpeg", jpeg), (Shape{10, 20, 3}));
  EXPECT_EQ(Decode("DecodeImage", jpeg), (Shape{10, 20, 3}));
  const std::string png =
      EncodePngPixels({.width = 5, .height = 4, .channels = 4}, SomePixels(5, 4, 4).data()).value();
  EXPECT_EQ(Decode("DecodePng", png), (Shape{4, 5, 4}));
}

TEST(ImageCodecTest, SurvivesDamage) {
  const std::vector<uint8_t> pixels = SomePixels(20, 10, 3);
  const std::string files[] = {
      EncodeJpegPixels(20, 10, 3, pixels.data(), {.progressive = true}).value(),
      EncodeJpegPixels(20, 10, 3, pixels.data(), {}).value(),
      EncodePngPixels({.width = 20, .height = 10, .channels = 3}, pixels.data()).value(),
      std::string("BM\x6e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x02\0\0\0\x01\0\x18\0", 30) +
          std::string(60, '\7')};
  std::mt19937 random(7);
  for (const std::string& file : files) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = file;
      for (int flips = 0; flips < 3; ++flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      if (round % 3 == 0) damaged.resize(random() % damaged.size());
      try {
        EXPECT_EQ(Decode("DecodeImage", damaged).rank(), 3);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
      }
    }
  }
}

TEST(ImageCodecTest, RefusesHugePicturesBeforeTakingMemory) {
  std::string bmp(
      "BM\x6e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\xff\xff\xff\x7f\xff\xff\xff\x7f\x01\0\x18\0", 30);
  bmp.resize(100);
  EXPECT_THROW(Decode("DecodeBmp", bmp), Error);
}

}  // namespace
}  // namespace carillon
