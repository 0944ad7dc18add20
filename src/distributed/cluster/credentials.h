// Credentials: what a task or a client shows to the others, and holds theirs against.
#pragma once

#include <string>

#include "base/certificates.h"
#include "base/status.h"
#include "carillon/security.h"

namespace carillon {

// Who a certificate of `carillon certs` is made for: a task, "worker-0", or "client". It is also
// how its files are named.
std::string CertificateOwner(const std::string& job, int task);
inline constexpr const char* kClientOwner = "client";

// The DNS name by which a certificate says whose it is: "worker-0.carillon". No real host is called
// so.
inline constexpr std::string_view kIdentityDomain = ".carillon";
inline std::string IdentityOf(std::string_view owner) { return StrCat(owner, kIdentityDomain); }
// Of "/job:worker/replica:0/task:0".
std::string IdentityOfTask(const std::string& task);

struct Credentials {
  std::string token;      // empty: none
  std::string authority;  // PEM, as the rest; empty: no TLS
  Certificate own;

  bool has_token() const { return !token.empty(); }
  bool has_tls() const { return !authority.empty(); }
  bool empty() const { return !has_token() && !has_tls(); }
};

struct CredentialsOwner {
  std::string name;           // whose files of a folder are meant
  bool must_be_named = true;  // the certificate has to carry its identity
};

// As carillon/security.h says, the environment included. Errors name the file and what to do.
StatusOr<Credentials> LoadCredentials(const Security& security, const CredentialsOwner& owner);

}  // namespace carillon
