#include <cstring>

#include "data/formats.h"
#include "data/mat_file.h"
#include "data/matio_library.h"
#include "data/test_util.h"

namespace carillon {
namespace {

struct MatOptions {
  matio_compression compression = MAT_COMPRESSION_ZLIB;
  mat_ft version = MAT_FT_MAT5;
  bool double_labels = false;
  size_t side = 32;
  size_t labels = 4;
  const char* images_name = "X";
};

constexpr int kSamples = 4;

// Pixel (row y, column x, channel c) of sample i.
uint8_t PixelOf(size_t i, size_t y, size_t x, size_t c) {
  return static_cast<uint8_t>(i * 50 + y * 3 + x + c * 100);
}

void WriteVariable(const MatioLibrary& matio, mat_t* file, const char* name, matio_classes kind,
                   matio_types type, std::vector<size_t> dims, void* data,
                   matio_compression compression) {
  matvar_t* variable = matio.make(name, kind, type, static_cast<int>(dims.size()), dims.data(),
                                  data, MAT_F_DONT_COPY_DATA);
  ASSERT_NE(variable, nullptr);
  EXPECT_EQ(matio.write(file, variable, compression), 0);
  matio.free(variable);
}

// Labels 1, 2, …, but the last is 10.
std::string WriteMat(const TemporaryFolder& folder, const MatOptions& o = {}) {
  const std::string path = folder.Path("x.mat");
  PosixEnv().Remove(path).IgnoreError();
  const MatioLibrary matio = *LoadMatio();
  mat_t* file = matio.create(path.c_str(), nullptr, o.version);
  EXPECT_NE(file, nullptr);
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < kSamples; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      for (size_t x = 0; x < o.side; ++x) {
        for (size_t y = 0; y < o.side; ++y) pixels.push_back(PixelOf(i, y, x, c));
      }
    }
  }
  WriteVariable(matio, file, o.images_name, MAT_C_UINT8, MAT_T_UINT8, {o.side, o.side, 3, kSamples},
                pixels.data(), o.compression);
  std::vector<uint8_t> labels;
  for (size_t i = 1; i < o.labels; ++i) labels.push_back(static_cast<uint8_t>(i));
  labels.push_back(10);
  std::vector<double> wide(labels.begin(), labels.end());
  if (o.double_labels) {
    WriteVariable(matio, file, "y", MAT_C_DOUBLE, MAT_T_DOUBLE, {o.labels, 1}, wide.data(),
                  o.compression);
  } else {
    WriteVariable(matio, file, "y", MAT_C_UINT8, MAT_T_UINT8, {o.labels, 1}, labels.data(),
                  o.compression);
  }
  matio.close(file);
  return path;
}

TEST(SvhnTest, ReadsImagesAndLabels) {
  const TemporaryFolder folder;
  for (const matio_compression compression : {MAT_COMPRESSION_ZLIB, MAT_COMPRESSION_NONE}) {
    for (const bool double_labels : {false, true}) {
      Dataset data;
      const Status status = ReadSvhn(
          WriteMat(folder, {.compression = compression, .double_labels = double_labels}), &data);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(data.images.shape(), (Shape{kSamples, 32, 32, 3}));
      const uint8_t* at = data.images.data<uint8_t>();
      for (size_t i = 0; i < kSamples; ++i) {
        for (size_t y = 0; y < 32; ++y) {
          for (size_t x = 0; x < 32; ++x) {
            for (size_t c = 0; c < 3; ++c) ASSERT_EQ(*at++, PixelOf(i, y, x, c));
          }
        }
      }
      EXPECT_EQ(std::vector<int64_t>(data.labels.data<int64_t>(), data.labels.data<int64_t>() + 4),
                (std::vector<int64_t>{1, 2, 3, 0}));
    }
  }
}

TEST(SvhnTest, NamesWhatDoesNotFit) {
  const TemporaryFolder folder;
  Dataset data;
  EXPECT_STATUS(ReadSvhn(folder.Path("none.mat"), &data), kNotFound, "none.mat");
  EXPECT_STATUS(ReadSvhn(WriteMat(folder, {.side = 16}), &data), kDataLoss,
                "x.mat: X at offset 128", "[16,16,3,4], expected [32,32,3,n]");
  EXPECT_STATUS(ReadSvhn(WriteMat(folder, {.labels = 3}), &data), kDataLoss, "y at offset",
                "[3,1], expected [4,1]");
  EXPECT_STATUS(ReadSvhn(WriteMat(folder, {.images_name = "images"}), &data), kDataLoss,
                "no variable X", "found images, y");
  EXPECT_STATUS(ReadSvhn(folder.Write("t.mat", "not a MATLAB file"), &data), kDataLoss,
                "t.mat: truncated at offset 17", "128");
  EXPECT_STATUS(ReadSvhn(folder.Write("t.mat", std::string(200, 'x')), &data), kDataLoss,
                "no MATLAB file", "offset 124");
  EXPECT_STATUS(ReadSvhn(WriteMat(folder, {.version = MAT_FT_MAT73}), &data), kUnimplemented, "7.3",
                "expected version 5");
}

TEST(SvhnTest, FindsEveryTruncation) {
  const TemporaryFolder folder;
  for (const matio_compression compression : {MAT_COMPRESSION_ZLIB, MAT_COMPRESSION_NONE}) {
    const std::string whole = *PosixEnv().ReadFile(WriteMat(folder, {.compression = compression}));
    for (size_t length = 0; length < whole.size(); length += 1 + length / 50) {
      Dataset data;
      EXPECT_STATUS(ReadSvhn(folder.Write("t.mat", whole.substr(0, length)), &data), kDataLoss,
                    "t.mat");
    }
  }
}

TEST(SvhnTest, SurvivesEveryDamagedByte) {
  const TemporaryFolder folder;
  const std::string whole = *PosixEnv().ReadFile(WriteMat(folder));
  for (size_t byte = 124; byte < whole.size(); byte += 1 + byte / 40) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x41);
    Dataset data;
    EXPECT_FALSE(ReadSvhn(folder.Write("t.mat", damaged), &data).ok())
        << "byte " << byte << ": compressed data has a checksum";
  }
  const std::string plain =
      *PosixEnv().ReadFile(WriteMat(folder, {.compression = MAT_COMPRESSION_NONE}));
  for (size_t byte = 124; byte < 300; ++byte) {  // headers and first values
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string damaged = plain;
      damaged[byte] = static_cast<char>(damaged[byte] ^ flip);
      Dataset data;
      const Status status = ReadSvhn(folder.Write("t.mat", damaged), &data);
      EXPECT_TRUE(status.ok() || Contains(status, "t.mat")) << status;
    }
  }
}

TEST(SvhnTest, HostileDimensionsTakeNoMemory) {
  const TemporaryFolder folder;
  const std::string plain =
      *PosixEnv().ReadFile(WriteMat(folder, {.compression = MAT_COMPRESSION_NONE}));
  const size_t dims =
      128 + 8 + 16 + 8;  // after file header, tag, flags and the tag of the dimensions
  ASSERT_EQ(plain[dims], 32);
  for (const uint32_t huge : {0x7fffffffu, 0x80000000u, 0xffffffffu, 1u << 20}) {
    std::string damaged = plain;
    for (size_t i = 0; i < 4; ++i) std::memcpy(damaged.data() + dims + 4 * i, &huge, 4);
    Dataset data;
    EXPECT_STATUS(ReadSvhn(folder.Write("t.mat", damaged), &data), kDataLoss,
                  "the array at offset 128");
  }
  const uint32_t many = 0x7ffffffcu;  // the number of bytes of the dimensions themselves
  std::string damaged = plain;
  std::memcpy(damaged.data() + dims - 4, &many, 4);
  Dataset data;
  EXPECT_STATUS(ReadSvhn(folder.Write("t.mat", damaged), &data), kDataLoss, "dimensions");
}

}  // namespace
}  // namespace carillon
