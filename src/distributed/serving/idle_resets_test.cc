#include "distributed/serving/idle_resets.h"

#include <gtest/gtest.h>
#include <string>

#include "distributed/serving/http2_test_util.h"

namespace carillon {
namespace {

using namespace http2;

// What is left of `bytes` when they come in pieces of this size.
std::string LeftOf(const std::string& bytes, size_t piece) {
  IdleResets resets;
  std::string left;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::span<const char> next(bytes.data() + at, std::min(piece, bytes.size() - at));
    EXPECT_TRUE(resets
                    .LeaveOut(next,
                              [&](std::span<const char> some) {
                                EXPECT_FALSE(some.empty());
                                left.append(some.begin(), some.end());
                                return absl::OkStatus();
                              })
                    .ok());
  }
  return left;
}

void ExpectLeft(const std::string& frames, const std::string& expected) {
  const std::string preface(kPreface);
  for (size_t piece = 1; piece <= preface.size() + frames.size() + 1; ++piece)
    EXPECT_EQ(LeftOf(preface + frames, piece), preface + expected) << piece;
}

std::string Reset(uint32_t stream) { return Frame(kReset, 0, stream, BigEndian(8, 4)); }

TEST(IdleResetsTest, OnlyResetsOfStreamsThatWereNeverOpenedAreLeftOut) {
  const std::string begin = Frame(kHeaders, 0, 5, "headers") + Frame(kContinuation, 4, 5, "more"),
                    data = Frame(kData, 0, 5, "some data"), empty = Frame(kSettings, 0, 0, "");
  ExpectLeft(empty + begin + data, empty + begin + data);
  ExpectLeft(Reset(1), "");
  ExpectLeft(Reset(1) + empty + Reset(3) + Reset(3) + begin, empty + begin);
  // Of streams that are open, that were, or that this one's number says were.
  ExpectLeft(begin + Reset(5) + Reset(5) + Reset(3), begin + Reset(5) + Reset(5) + Reset(3));
  ExpectLeft(begin + data + Reset(7) + data, begin + data + data);
  // A priority opens nothing.
  const std::string priority = Frame(kPriority, 0, 7, "12345");
  ExpectLeft(priority + Reset(7) + data, priority + data);
}

TEST(IdleResetsTest, OtherErrorsAreHandedOn) {
  for (const std::string& wrong :
       {Reset(0), Reset(2), Frame(kReset, 0, 1, "12345"), Frame(kReset, 0, 1, ""),
        Frame(kWindowUpdate, 0, 1, "1234"), Frame(kData, 0, 1, "x")})
    ExpectLeft(wrong + Frame(kPing, 0, 0, "12345678"), wrong + Frame(kPing, 0, 0, "12345678"));
}

TEST(IdleResetsTest, EndsAtTheFirstError) {
  IdleResets resets;
  const std::string bytes = std::string(kPreface) + Reset(1) + Frame(kSettings, 0, 0, "");
  int calls = 0;
  EXPECT_EQ(resets
                .LeaveOut(bytes,
                          [&](std::span<const char>) {
                            ++calls;
                            return absl::DataLossError("enough");
                          })
                .code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace carillon
