#include "kernels/fingerprint.h"

#include <gtest/gtest.h>
#include <string>

namespace carillon {
namespace {

// The lower 62 bits, as TensorFlow computes them.
TEST(FingerprintTest, AgreesWithTensorFlow) {
  struct Expected {
    std::string text;
    uint64_t fingerprint, sip, murmur;
  };
  const Expected cases[] = {
      {"", 0x1ae16a3b2f90404f, 0x628af35e1cba77b, 0x1769421199f9e3b},
      {"a", 0x33454265b6df75e3, 0x795cb2ed678fcf6, 0x29962dc026eac9fc},
      {"hello", 0x348be5a931380ce8, 0x290a1607eb437896, 0x127bb8b9ebaa7d4a},
      {std::string(20, 'x'), 0x3241ce1f8ef74dc4, 0x5a8812b522811c6, 0x24c27a1a8434bb2d},
      {std::string(40, 'x'), 0x2bf8e8aeac993c94, 0x89b30dd1ae9e5ff, 0x7f6c8e46aff1495},
      {std::string(100, 'x'), 0x1b7616b854568a1f, 0x16bed4e52144b517, 0x1492f0a68e1d7d07},
  };
  constexpr uint64_t kMask = (uint64_t{1} << 62) - 1;
  for (const Expected& expected : cases) {
    EXPECT_EQ(Fingerprint64(expected.text) & kMask, expected.fingerprint) << expected.text;
    EXPECT_EQ(SipHash({1, 2}, expected.text) & kMask, expected.sip) << expected.text;
    EXPECT_EQ(Murmur64(expected.text) & kMask, expected.murmur) << expected.text;
  }
}

}  // namespace
}  // namespace carillon
