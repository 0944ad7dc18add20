// idx, gzip and CIFAR files: sound ones, and damaged in every way that we can think of.
#include "data/formats.h"

#include <cstring>

#include "data/byte_source.h"
#include "data/test_util.h"

namespace carillon {
namespace {

class FormatsTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& content) {
    EXPECT_TRUE(env_.WriteFile("/f", content).ok());
    return "/f";
  }
  MemoryEnv env_;
};

TEST_F(FormatsTest, IdxImagesPackedOrNot) {
  const std::string pixels = SomeBytes(3 * 4 * 5);
  const std::string file = IdxFile({3, 4, 5}, pixels);
  for (const std::string& content : {file, Gzip(file)}) {
    const auto images = ReadIdxImages(env_, Write(content));
    ASSERT_TRUE(images.ok()) << images.status();
    EXPECT_EQ(images->shape(), (Shape{3, 4, 5, 1}));
    EXPECT_EQ(std::string(static_cast<const char*>(images->raw_data()), images->num_bytes()),
              pixels);
  }
}

TEST_F(FormatsTest, IdxLabels) {
  const auto labels = ReadIdxLabels(env_, Write(IdxFile({4}, {0, 9, 3, 1})), 10);
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ(
      std::vector<int64_t>(labels->values<int64_t>().begin(), labels->values<int64_t>().end()),
      (std::vector<int64_t>{0, 9, 3, 1}));
  EXPECT_STATUS(ReadIdxLabels(env_, Write(IdxFile({3}, {0, 1, 10})), 10).status(), kDataLoss, "/f",
                "label 10", "offset 10", "expected 0 to 9");
}

TEST_F(FormatsTest, IdxNamesWhatIsWrongWithAHeader) {
  EXPECT_STATUS(ReadIdxImages(env_, "/none").status(), kNotFound, "/none");
  EXPECT_STATUS(ReadIdxImages(env_, Write("")).status(), kDataLoss, "truncated at offset 0",
                "idx header");
  EXPECT_STATUS(ReadIdxImages(env_, Write("PK\3\4")).status(), kDataLoss, "offset 0",
                "expected 0 0");
  std::string file = IdxFile({1, 2, 2}, "abcd");
  file[2] = 0x0d;
  EXPECT_STATUS(ReadIdxImages(env_, Write(file)).status(), kDataLoss, "type 13", "offset 2",
                "expected 8");
  EXPECT_STATUS(ReadIdxImages(env_, Write(IdxFile({4}, "abcd"))).status(), kDataLoss,
                "1 dimensions at offset 3", "expected 3", "images");
  EXPECT_STATUS(ReadIdxLabels(env_, Write(IdxFile({1, 2, 2}, "abcd")), 10).status(), kDataLoss,
                "3 dimensions", "labels");
  EXPECT_STATUS(ReadIdxImages(env_, Write(IdxFile({0, 2, 2}, ""))).status(), kDataLoss,
                "no elements");
  EXPECT_STATUS(ReadIdxImages(env_, Write(IdxFile({1, 2, 2}, "abcde"))).status(), kDataLoss,
                "more bytes at offset 20");
}

TEST_F(FormatsTest, IdxFindsEveryTruncation) {
  const std::string file = IdxFile({3, 4, 5}, SomeBytes(60));
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_STATUS(ReadIdxImages(env_, Write(file.substr(0, length))).status(), kDataLoss, "/f",
                  "offset");
  }
  const std::string packed = Gzip(file);
  for (size_t length = 2; length < packed.size();
       ++length) {  // of one byte nobody knows that it is gzip
    EXPECT_STATUS(ReadIdxImages(env_, Write(packed.substr(0, length))).status(), kDataLoss,
                  "/f: truncated: the gzip data ends at offset", "expected");
  }
}

TEST_F(FormatsTest, IdxHostileSizesTakeNoMemory) {
  const uint32_t huge = 0xffffffff;
  EXPECT_STATUS(ReadIdxImages(env_, Write(IdxFile({huge, huge, huge}, "x"))).status(), kDataLoss,
                "4294967295 x 4294967295 x 4294967295", "at most 1");
  const uint32_t million = 1u << 20;  // 2^60 elements in all
  for (const bool packed : {false, true}) {
    const std::string file = IdxFile({million, million, million}, "x");
    EXPECT_STATUS(ReadIdxImages(env_, Write(packed ? Gzip(file) : file)).status(), kDataLoss,
                  "claims 1048576 x 1048576 x 1048576");
  }
  EXPECT_STATUS(ReadIdxLabels(env_, Write(IdxFile({huge}, "x")), 10).status(), kDataLoss,
                "claims 4294967295");
}

TEST_F(FormatsTest, GzipFindsFlippedBits) {
  const std::string file = IdxFile({10, 8, 8}, SomeBytes(640));
  const std::string packed = Gzip(file);
  int found = 0;
  for (size_t byte = 10; byte < packed.size(); ++byte) {  // after the header, which has no checksum
    std::string damaged = packed;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
    const auto images = ReadIdxImages(env_, Write(damaged));
    // Some bits are padding and mean nothing.
    EXPECT_TRUE(!images.ok() || std::memcmp(images->raw_data(), file.data() + 16, 640) == 0)
        << byte;
    found += Contains(images.status(), "corrupt gzip data before offset");
  }
  EXPECT_GT(found, 100);
}

TEST_F(FormatsTest, GzipOfSeveralMembersIsOneFile) {
  const std::string file = IdxFile({3, 4, 5}, SomeBytes(60));
  const std::string packed = Gzip(file.substr(0, 20)) + Gzip(file.substr(20));
  EXPECT_TRUE(ReadIdxImages(env_, Write(packed)).ok());
}

TEST_F(FormatsTest, ReadsBeyondTheBuffersOfTheReader) {
  const std::string pixels = SomeBytes(70 * 100 * 100);
  const auto images = ReadIdxImages(env_, Write(Gzip(IdxFile({70, 100, 100}, pixels))));
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(std::string(static_cast<const char*>(images->raw_data()), images->num_bytes()), pixels);
}

TEST_F(FormatsTest, PassesFailuresOfTheDiskOn) {
  Write(IdxFile({3, 4, 5}, SomeBytes(60)));
  for (int64_t n = 0; n < 3; ++n) {  // open, look at the first bytes, read
    FailingEnv failing(env_, n);
    EXPECT_STATUS(ReadIdxImages(failing, "/f").status(), kUnavailable, "/f");
  }
}

// `n` records with labels 0, 1, 2, … of which the last of `label_bytes` counts; channel c of pixel
// p is p + c.
std::string CifarFile(int n, int label_bytes) {
  std::string file;
  for (int i = 0; i < n; ++i) {
    if (label_bytes == 2) file.push_back(7);
    file.push_back(static_cast<char>(i));
    for (int c = 0; c < 3; ++c) {
      for (int p = 0; p < 1024; ++p) file.push_back(static_cast<char>(p + c));
    }
  }
  return file;
}

TEST_F(FormatsTest, CifarFromSeveralFiles) {
  for (const int label_bytes : {1, 2}) {
    ASSERT_TRUE(env_.WriteFile("/a", CifarFile(3, label_bytes)).ok());
    ASSERT_TRUE(env_.WriteFile("/b", Gzip(CifarFile(2, label_bytes))).ok());
    Dataset data;
    const Status status = ReadCifar(env_, {"/a", "/b"}, label_bytes, 10, &data);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(data.images.shape(), (Shape{5, 32, 32, 3}));
    EXPECT_EQ(std::vector<int64_t>(data.labels.data<int64_t>(), data.labels.data<int64_t>() + 5),
              (std::vector<int64_t>{0, 1, 2, 0, 1}));
    for (const int pixel : {0, 1, 500, 1023}) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(data.images.data<uint8_t>()[(4 * 1024 + pixel) * 3 + c],
                  static_cast<uint8_t>(pixel + c));
      }
    }
  }
}

TEST_F(FormatsTest, CifarNamesWhatIsWrong) {
  Dataset data;
  const std::string file = CifarFile(3, 1);
  EXPECT_STATUS(ReadCifar(env_, {Write(file.substr(0, 3073 + 100))}, 1, 10, &data), kDataLoss,
                "/f: truncated at offset 3173", "expected 3073 bytes of record 1 from offset 3073",
                "got 100");
  EXPECT_STATUS(ReadCifar(env_, {Write("")}, 1, 10, &data), kDataLoss, "/f: empty");
  std::string damaged = file;
  damaged[3073] = 10;
  EXPECT_STATUS(ReadCifar(env_, {Write(damaged)}, 1, 10, &data), kDataLoss, "label 10",
                "offset 3073", "expected 0 to 9");
  EXPECT_STATUS(ReadCifar(env_, {"/none"}, 1, 10, &data), kNotFound, "/none");
  const std::string packed = Gzip(file);
  EXPECT_STATUS(ReadCifar(env_, {Write(packed.substr(0, packed.size() / 2))}, 1, 10, &data),
                kDataLoss, "gzip data ends at offset");
}

}  // namespace
}  // namespace carillon
