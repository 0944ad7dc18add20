#include "base/certificates.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

class CertificatesTest : public testing::Test {
 protected:
  const Certificate authority_ = MakeAuthority("an authority", 10).value();
  Certificate Make(int days = 10) const {
    return MakeCertificate(
               {.name = "ps-0.carillon", .hosts = {"host", "10.0.0.1", "::1"}, .days = days},
               authority_)
        .value();
  }
};

TEST_F(CertificatesTest, WhatTheAuthoritySignsHolds) {
  const Certificate made = Make();
  EXPECT_TRUE(CheckCertificate(made, authority_.certificate).ok());
  EXPECT_EQ(NamesOf(made.certificate).value(), (std::vector<std::string>{"ps-0.carillon", "host"}));
  EXPECT_NE(Make().key, made.key);
  // One authority of several is enough.
  const Certificate other = MakeAuthority("another", 10).value();
  EXPECT_TRUE(CheckCertificate(made, other.certificate + authority_.certificate).ok());
}

TEST_F(CertificatesTest, WhatIsWrongIsSaid) {
  const auto expect = [](const Status& status, absl::StatusCode code, const std::string& part) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos) << status;
  };
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Certificate made = Make();
  const Certificate other = MakeAuthority("another", 10).value();
  expect(CheckCertificate(made, other.certificate), kFailed, "has not signed");
  expect(CheckCertificate({made.certificate, other.key}, authority_.certificate), kFailed,
         "the key is not the one");
  expect(CheckCertificate(Make(-1), authority_.certificate), kFailed, "expired");
  expect(CheckCertificate({"", made.key}, authority_.certificate), kInvalid, "the certificate:");
  expect(CheckCertificate({made.certificate, "no PEM"}, authority_.certificate), kInvalid,
         "the key:");
  expect(CheckCertificate(made, made.key), kInvalid, "the authority's certificate:");
  expect(MakeCertificate({.name = "x", .hosts = {"a,DNS:ps-0.carillon"}}, authority_).status(),
         kInvalid, "is no host");
}

TEST(Tokens, AreRandomAndCompared) {
  const std::string token = MakeToken().value();
  EXPECT_EQ(token.size(), 64u);
  EXPECT_NE(MakeToken().value(), token);
  EXPECT_TRUE(TokensAreEqual(token, std::string(token)));
  EXPECT_FALSE(TokensAreEqual(token, token.substr(1)));
  EXPECT_FALSE(TokensAreEqual(token, ""));
  std::string changed = token;
  changed.back() = changed.back() == '0' ? '1' : '0';
  EXPECT_FALSE(TokensAreEqual(token, changed));
  EXPECT_TRUE(TokensAreEqual("", ""));
}

}  // namespace
}  // namespace carillon
