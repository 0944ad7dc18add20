#include "kernels/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace carillon {
namespace {

using testing::HasSubstr;

std::string Pack(const std::string& text) {
  uLongf size = ::compressBound(text.size());
  std::string packed(size, '\0');
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(text.data()), text.size());
  packed.resize(size);
  return packed;
}

class ByteStreams : public testing::Test {
 protected:
  ByteStream Open(const std::string& content, ByteStream::Packing packing) {
    EXPECT_TRUE(env_.WriteFile("/file", content).ok());
    return *ByteStream::Open(env_, "/file", packing);
  }
  MemoryEnv env_;
};

TEST_F(ByteStreams, ReadsLinesAndBytes) {
  const std::string text = "one\r\n\nthree" + std::string(200000, 'x') + "\nend";
  for (const auto packing : {ByteStream::Packing::kNone, ByteStream::Packing::kZlib}) {
    ByteStream stream = Open(packing == ByteStream::Packing::kNone ? text : Pack(text), packing);
    std::string line;
    EXPECT_TRUE(*stream.ReadLine(&line));
    EXPECT_EQ(line, "one");
    EXPECT_EQ(stream.offset(), 5u);
    EXPECT_TRUE(*stream.ReadLine(&line));
    EXPECT_EQ(line, "");
    std::string bytes;
    ASSERT_TRUE(stream.ReadUpTo(5, &bytes).ok());
    EXPECT_EQ(bytes, "three");
    EXPECT_TRUE(*stream.Skip(200001));
    EXPECT_TRUE(*stream.ReadLine(&line));
    EXPECT_EQ(line, "end");
    EXPECT_FALSE(*stream.ReadLine(&line));
    EXPECT_FALSE(*stream.Skip(1));
  }
}

// A length that the file only claims costs no memory.
TEST_F(ByteStreams, TakesMemoryForWhatIsThere) {
  ByteStream stream = Open("abc", ByteStream::Packing::kNone);
  std::string bytes;
  ASSERT_TRUE(stream.ReadUpTo(uint64_t{1} << 60, &bytes).ok());
  EXPECT_EQ(bytes, "abc");
  EXPECT_LE(bytes.capacity(), size_t{4} << 20);
}

TEST_F(ByteStreams, NamesFileAndOffsetOfDamage) {
  std::string packed = Pack(std::string(1000, 'x') + "y");
  std::string bytes;
  ByteStream shorter = Open(packed.substr(0, packed.size() - 3), ByteStream::Packing::kZlib);
  EXPECT_THAT(shorter.ReadUpTo(5000, &bytes).ToString(), HasSubstr("/file: truncated"));
  ByteStream other = Open("not packed", ByteStream::Packing::kGzip);
  EXPECT_THAT(other.ReadUpTo(10, &bytes).ToString(), HasSubstr("/file: corrupt packed data"));
  EXPECT_FALSE(ByteStream::ParsePacking("LZ4").ok());
}

}  // namespace
}  // namespace carillon
