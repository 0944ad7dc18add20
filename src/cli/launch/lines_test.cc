#include "cli/launch/lines.h"

#include <gtest/gtest.h>
#include <vector>

namespace carillon::launch {
namespace {

using Strings = std::vector<std::string>;

Strings Split(const Strings& pieces, bool finish = true) {
  Strings lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  for (const std::string& piece : pieces) splitter.Add(piece);
  if (finish) splitter.Finish();
  return lines;
}

TEST(LineSplitterTest, LinesMayComeInPieces) {
  EXPECT_EQ(Split({"a\nb", "c\n\n", "", "d\n"}), (Strings{"a", "bc", "", "d"}));
  EXPECT_EQ(Split({"a\r", "\nb\r\n"}), (Strings{"a", "b"}));
}

TEST(LineSplitterTest, ALineWithoutAnEndComesWhenTheStreamIsOver) {
  EXPECT_EQ(Split({"a\nb"}, false), (Strings{"a"}));
  EXPECT_EQ(Split({"a\nb"}), (Strings{"a", "b"}));
  EXPECT_EQ(Split({""}), Strings{});
}

TEST(LineSplitterTest, WhatWasWrittenOverIsNotShown) {
  EXPECT_EQ(Split({"10 %\r20 %\r", "30 %\n"}), (Strings{"30 %"}));
  EXPECT_EQ(Split({"10 %\r20 %\r"}), (Strings{"20 %"}));
  Strings redrawn(10'000, "step 17 of 1000\r");
  redrawn.push_back("done\n");
  EXPECT_EQ(Split(redrawn), (Strings{"done"}));
}

TEST(LineSplitterTest, LongLinesAreCut) {
  constexpr size_t kLongest = LineSplitter::kLongest;
  const Strings lines = Split({std::string(2 * kLongest + 10, 'x') + "\ny\n"});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].size(), kLongest);
  EXPECT_EQ(lines[2], std::string(10, 'x'));
  EXPECT_EQ(lines[3], "y");
}

TEST(PrintableTest, KeepsTextAndNothingThatMovesTheCursor) {
  EXPECT_EQ(Printable("tab\tgrün │ 漢 🙂"), "tab\tgrün │ 漢 🙂");
  EXPECT_EQ(Printable("\x1b[31mred\x1b[0m\x1b[2K!"), "red!");
  EXPECT_EQ(Printable("a\x1b"), "a");
  EXPECT_EQ(Printable("a\x1b[3"), "a");
  EXPECT_EQ(Printable(std::string_view("a\0b\x07\x08\x7f", 6)), "ab");
}

TEST(PrintableTest, MarksBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("\xff\xfe"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(Printable("gr\xfcn"), "gr\xef\xbf\xbdn");
  EXPECT_EQ(Printable("\xe6\xbc"), "\xef\xbf\xbd\xef\xbf\xbd") << "cut in the middle";
  EXPECT_EQ(Printable("\xc0\x80").size(), 6u) << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80").size(), 9u) << "a surrogate";
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "\xef\xbf\xbd\xef\xbf\xbd"
            "31m")
      << "a control sequence";
}

}  // namespace
}  // namespace carillon::launch
