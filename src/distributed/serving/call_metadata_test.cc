#include "distributed/serving/call_metadata.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace carillon {
namespace {

using std::chrono::nanoseconds;

TEST(CallMetadataTest, ReadsTimeouts) {
  EXPECT_EQ(ReadTimeout("2H"), std::chrono::hours(2));
  EXPECT_EQ(ReadTimeout("3M"), std::chrono::minutes(3));
  EXPECT_EQ(ReadTimeout("4S"), std::chrono::seconds(4));
  EXPECT_EQ(ReadTimeout("100m"), std::chrono::milliseconds(100));
  EXPECT_EQ(ReadTimeout("5u"), std::chrono::microseconds(5));
  EXPECT_EQ(ReadTimeout("6n"), nanoseconds(6));
  EXPECT_EQ(ReadTimeout("0n"), nanoseconds(0));
  EXPECT_EQ(ReadTimeout("00000001S"), std::chrono::seconds(1));
}

TEST(CallMetadataTest, TheLongestTimeoutsCanBeAddedToNow) {
  for (const char* text : {"99999999H", "99999999M", "99999999S", "99999999m"}) {
    const auto timeout = ReadTimeout(text);
    ASSERT_TRUE(timeout.has_value()) << text;
    EXPECT_GE(*timeout, std::chrono::hours(24)) << text;
    EXPECT_GT(CallInfo::Clock::now() + *timeout, CallInfo::Clock::now()) << text;
  }
}

TEST(CallMetadataTest, RefusesMalformedTimeouts) {
  for (const char* text :
       {"", "S", "1", "-1S", "-0S", "+1S", " 1S", "1 S", "1S ", "1s", "1h", "1.5S", "0x1S",
        "100000000S", "000000001S", "1SS", "S1", "99999999999999999999S"})
    EXPECT_FALSE(ReadTimeout(text).has_value()) << text;
  EXPECT_FALSE(ReadTimeout(std::string_view("1\0", 2)).has_value());
}

TEST(CallMetadataTest, PlainValuesAreWhatTheyAre) {
  EXPECT_EQ(ReadMetadataValue("key", "a value, not %41 decoded="), "a value, not %41 decoded=");
  EXPECT_EQ(WriteMetadataValue("key", "a value"), "a value");
  EXPECT_EQ(ReadMetadataValue("key-bins", "YQ=="), "YQ==");
  EXPECT_EQ(ReadMetadataValue("", ""), "");
}

TEST(CallMetadataTest, BinaryValuesComeWithAndWithoutPadding) {
  EXPECT_EQ(ReadMetadataValue("key-bin", ""), "");
  for (const char* text : {"YQ==", "YQ"}) EXPECT_EQ(ReadMetadataValue("key-bin", text), "a");
  for (const char* text : {"YWI=", "YWI"}) EXPECT_EQ(ReadMetadataValue("key-bin", text), "ab");
  EXPECT_EQ(ReadMetadataValue("key-bin", "YWJj"), "abc");
  EXPECT_EQ(ReadMetadataValue("key-bin", "//79"), "\xff\xfe\xfd");
  for (const char* text : {"Y", "YQ=a", "%%%%", "Y\x01", "YWJjZ"})
    EXPECT_FALSE(ReadMetadataValue("key-bin", text).has_value()) << text;
}

TEST(CallMetadataTest, BinaryValuesComeBack) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) {
    const std::string text = WriteMetadataValue("key-bin", bytes);
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; }));
    ASSERT_EQ(ReadMetadataValue("key-bin", text), bytes);
    bytes.push_back(static_cast<char>(i * 7));
  }
}

TEST(CallMetadataTest, FindsTheFirstOfAKey) {
  CallInfo info;
  info.metadata = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  ASSERT_NE(info.Find("a"), nullptr);
  EXPECT_EQ(*info.Find("a"), "1");
  EXPECT_EQ(*info.Find("b"), "2");
  EXPECT_EQ(info.Find("c"), nullptr);
  EXPECT_EQ(info.Find(""), nullptr);
}

// As clients do.
std::string Decode(std::string_view text) {
  std::string message;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      message.push_back(text[i]);
      continue;
    }
    message.push_back(
        static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)));
    i += 2;
  }
  return message;
}

TEST(CallMetadataTest, StatusMessagesArePrintable) {
  EXPECT_EQ(WriteStatusMessage(""), "");
  EXPECT_EQ(WriteStatusMessage("all is well ~ !"), "all is well ~ !");
  EXPECT_EQ(WriteStatusMessage("100% \n\tü\x7f"), "100%25 %0A%09%C3%BC%7F");
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  const std::string text = WriteStatusMessage(all);
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << int{c};
  EXPECT_EQ(Decode(text), all);
}

// Clients take 8 KiB of headers, all together, and show no status otherwise.
TEST(CallMetadataTest, LongStatusMessagesAreCut) {
  for (const std::string& piece : {std::string("x"), std::string("%"), std::string("\n")}) {
    std::string message;
    while (message.size() < 100'000) message += piece;
    const std::string text = WriteStatusMessage(message);
    EXPECT_LT(text.size(), 7 << 10);
    EXPECT_GT(text.size(), 5 << 10);
    EXPECT_TRUE(text.ends_with("(cut)")) << text.substr(text.size() - 20);
    const std::string decoded = Decode(text);
    EXPECT_TRUE(message.starts_with(decoded.substr(0, decoded.find(" ...")))) << piece;
  }
  const std::string fits(6000, 'x');
  EXPECT_EQ(WriteStatusMessage(fits), fits);
}

TEST(CallMetadataTest, CharactersOfSeveralBytesAreCutInNoMiddle) {
  for (const std::string character : {"ü", "€", "🔔"}) {
    for (size_t before = 0; before < 12; ++before) {
      std::string message(before, 'x');
      while (message.size() < 20'000) message += character;
      const std::string text = WriteStatusMessage(message);
      ASSERT_TRUE(text.ends_with("(cut)"));
      const std::string decoded = Decode(text);
      EXPECT_EQ((decoded.find(" ...") - before) % character.size(), 0) << character << before;
    }
  }
}

TEST(CallMetadataTest, LinesOfTheLogStayLines) {
  EXPECT_EQ(WriteForLog("the server's 'x'"), "the server's 'x'");
  EXPECT_EQ(WriteForLog("a\nb\x1b[2J\xff"), "a\\nb\\x1b[2J\\xff");
  EXPECT_LT(WriteForLog(std::string(100'000, '\n')).size(), 2000);
}

}  // namespace
}  // namespace carillon
