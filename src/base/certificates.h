// Certificates, keys and tokens: what the tasks of a cluster know each other by. Texts are PEM.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace carillon {

struct Certificate {
  std::string certificate;
  std::string key;
};

// A new authority that can sign certificates for so many days.
StatusOr<Certificate> MakeAuthority(const std::string& name, int days);

struct CertificateRequest {
  std::string name;                // its common name, and the first of its DNS names
  std::vector<std::string> hosts;  // further names and addresses under which it is reached
  bool can_serve = true;           // otherwise it is only good for calling servers
  int days = 365;
};
StatusOr<Certificate> MakeCertificate(const CertificateRequest& request,
                                      const Certificate& authority);

// What the certificate says it is: its DNS names.
StatusOr<std::vector<std::string>> NamesOf(const std::string& certificate);

// FailedPrecondition with the reason when `authority` has not signed the certificate, today is not
// among its days, or the key is not its own; InvalidArgument when a text is no PEM.
Status CheckCertificate(const Certificate& own, const std::string& authority);

// 256 bits that nobody can guess, in hexadecimal digits.
StatusOr<std::string> MakeToken();

// Takes as long for tokens that differ in the first letter as for those that differ in the last.
bool TokensAreEqual(std::string_view a, std::string_view b);

}  // namespace carillon
