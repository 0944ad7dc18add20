#include "checkpoint/record.h"

#include <gtest/gtest.h>
#include <vector>

#include "checkpoint/crc32c.h"

namespace carillon {
namespace {

TEST(Crc32cTest, KnownValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);  // the check value of the polynomial
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("56789", Crc32c("1234")), Crc32c("123456789"));
  EXPECT_EQ(UnmaskCrc(MaskCrc(0x12345678u)), 0x12345678u);
  EXPECT_NE(MaskCrc(0x12345678u), 0x12345678u);
}

class RecordTest : public ::testing::Test {
 protected:
  void Write(const std::vector<std::string>& records) {
    auto writer = RecordWriter::Open(env_, "/r");
    ASSERT_TRUE(writer.ok());
    for (const std::string& record : records) ASSERT_TRUE(writer->Append(record).ok());
    ASSERT_TRUE(writer->Close().ok());
  }
  // All records up to the end or the first error.
  Status ReadAll(std::vector<std::string>* records) {
    CARILLON_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(env_, "/r"));
    for (std::string record;;) {
      CARILLON_ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
      if (!more) return absl::OkStatus();
      records->push_back(record);
    }
  }
  MemoryEnv env_;
};

TEST_F(RecordTest, ReadsBackWhatWasWritten) {
  const std::vector<std::string> records{"", "a", std::string(300'000, 'x'),
                                         std::string("\0\1", 2)};
  Write(records);
  std::vector<std::string> back;
  ASSERT_TRUE(ReadAll(&back).ok());
  EXPECT_EQ(back, records);
}

TEST_F(RecordTest, HasTheBytesThatTensorFlowWrites) {
  Write({"hello"});
  const std::string expected(
      "\x05\0\0\0\0\0\0\0"
      "\xea\xb2\x04\x3e"
      "hello"
      "\xbb\x1f\x1c\x19",
      21);
  EXPECT_EQ(*env_.ReadFile("/r"), expected);
}

TEST_F(RecordTest, EveryTruncationIsFound) {
  Write({"first", "second"});
  const std::string whole = *env_.ReadFile("/r");
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_TRUE(env_.WriteFile("/r", whole.substr(0, length)).ok());
    std::vector<std::string> back;
    const Status status = ReadAll(&back);
    if (length == 0 || length == 21) {  // between records a file may end
      EXPECT_TRUE(status.ok()) << length;
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << length;
    EXPECT_NE(status.message().find("/r: truncated"), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find("offset"), absl::string_view::npos) << status;
    EXPECT_EQ(back.size(), length > 21 ? 1u : 0u);
  }
}

TEST_F(RecordTest, EveryFlippedBitIsFound) {
  Write({"first", "second"});
  const std::string whole = *env_.ReadFile("/r");
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(env_.WriteFile("/r", damaged).ok());
    std::vector<std::string> back;
    EXPECT_EQ(ReadAll(&back).code(), absl::StatusCode::kDataLoss) << bit;
  }
}

TEST_F(RecordTest, AHostileLengthTakesNoMemory) {
  for (const uint64_t length : {uint64_t{1} << 60, ~uint64_t{0}, ~uint64_t{0} - 3, uint64_t{17}}) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
    const uint32_t crc = MaskCrc(Crc32c(bytes));
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(crc >> (8 * i)));
    ASSERT_TRUE(env_.WriteFile("/r", bytes + "some bytes").ok());
    std::vector<std::string> back;
    const Status status = ReadAll(&back);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << length;
    EXPECT_NE(status.message().find("the record at offset 0"), absl::string_view::npos) << status;
  }
}

TEST_F(RecordTest, PassesFailuresOfTheDiskOn) {
  for (int64_t n = 0; n < 4; ++n) {
    FailingEnv failing(env_, n);
    auto writer = RecordWriter::Open(failing, "/r");
    Status status = writer.status();
    if (status.ok()) status = writer->Append("x");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << n;
  }
}

}  // namespace
}  // namespace carillon
