#include "kernels/philox.h"

#include <gtest/gtest.h>
#include <vector>

namespace carillon {
namespace {

// The known answers that the authors of Philox publish.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(Philox(0, 0, 0).Next(),
            (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~0ull, ~0ull, ~0ull).Next(),
            (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e).Next(),
            (Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ManyBlocksAtOnceAreTheSameAsOneByOne) {
  // The second start carries from the lower to the upper half of the counter on the way.
  for (const uint64_t start : {uint64_t{7}, ~uint64_t{0} - 20}) {
    for (const int blocks : {0, 1, 15, 16, 17, 100}) {
      Philox one(5, start, 9), many = one;
      std::vector<uint32_t> words(static_cast<size_t>(blocks) * 4);
      many.Generate(blocks, words.data());
      for (int i = 0; i < blocks; ++i) {
        const Philox::Block block = one.Next();
        for (size_t j = 0; j < 4; ++j) EXPECT_EQ(words[static_cast<size_t>(i) * 4 + j], block[j]);
      }
      EXPECT_EQ(many.Next(), one.Next());
    }
  }
}

TEST(Philox, SkipsBlocks) {
  Philox walked(1, ~uint64_t{0} - 1, 3), skipped = walked;
  for (int i = 0; i < 5; ++i) walked.Next();
  skipped.Skip(5);
  EXPECT_EQ(walked.Next(), skipped.Next());
}

TEST(PhiloxWords, StartAnywhereInABlock) {
  PhiloxWords all(Philox(1, 2, 3));
  for (uint64_t skip = 0; skip < 9; ++skip) {
    PhiloxWords some(Philox(1, 2, 3), skip);
    const uint32_t next = all.Next();
    EXPECT_EQ(some.Next(), next) << skip;
  }
}

}  // namespace
}  // namespace carillon
