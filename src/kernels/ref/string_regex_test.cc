#include <gtest/gtest.h>

#include "kernels/kernel_tester.h"

namespace carillon {
namespace {

std::string Replaced(const std::string& text, const std::string& rewrite, bool all) {
  const std::vector<LaidOut> inputs = {Tensor::Scalar(text)};
  return KernelTester(
             "StaticRegexReplace",
             {{"pattern", std::string("b")}, {"rewrite", rewrite}, {"replace_global", all}}, inputs)
      .RunPlain(inputs)[0]
      .scalar<std::string>();
}

TEST(RegexReplace, RewritesAsRe2Does) {
  EXPECT_EQ(Replaced("abcb", "<\\0>", false), "a<b>cb");
  EXPECT_EQ(Replaced("abcb", "<\\0>", true), "a<b>c<b>");
  // What is no rewrite: one match is left as it is, of all matches nothing stays but what could be
  // written.
  EXPECT_EQ(Replaced("abcb", "<\\q>", false), "abcb");
  EXPECT_EQ(Replaced("abcb", "<\\q>", true), "a<c<");
}

}  // namespace
}  // namespace carillon
