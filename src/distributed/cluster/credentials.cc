#include "distributed/cluster/credentials.h"

#include <algorithm>
#include <cstdlib>
#include <sys/stat.h>

#include "base/env.h"
#include "base/strings.h"

namespace carillon {
namespace {

constexpr uint64_t kLargestFile = 1 << 20;
constexpr size_t kShortestToken = 16, kLongestToken = 4096;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Security WithEnvironment(Security security) {
  if (security.token.empty() && security.token_file.empty())
    security.token_file = Variable("CARILLON_TOKEN_FILE");
  if (security.tls_dir.empty() && security.tls_ca.empty() && security.tls_cert.empty() &&
      security.tls_key.empty()) {
    security.tls_dir = Variable("CARILLON_TLS_DIR");
    security.tls_ca = Variable("CARILLON_TLS_CA");
    security.tls_cert = Variable("CARILLON_TLS_CERT");
    security.tls_key = Variable("CARILLON_TLS_KEY");
  }
  return security;
}

Status About(const std::string& path, const Status& status) {
  return Status(status.code(), StrCat(path, ": ", std::string(status.message())));
}

// A file that only its owner, and perhaps its group, may read.
StatusOr<std::string> ReadSecret(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0)
    return FailedPrecondition(
        path, ": every user of this machine may read or change it; say chmod ", "600 ", path);
  return PosixEnv().ReadFile(path, kLargestFile);
}

StatusOr<std::string> TokenIn(std::string text) {
  constexpr const char* kSpace = " \t\r\n";
  text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
  text.erase(text.find_last_not_of(kSpace) + 1);
  const bool is_printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
  if (text.size() >= kShortestToken && text.size() <= kLongestToken && is_printable) return text;
  return InvalidArgument(
      "a token has ", kShortestToken, " to ", kLongestToken,
      " letters, digits and signs of ASCII and no spaces; make one with carillon "
      "certs --token FILE");
}

Status LoadTls(Security security, const CredentialsOwner& owner, Credentials* credentials) {
  const auto in_folder = [&](std::string* path, const std::string& name) {
    if (path->empty() && !security.tls_dir.empty()) *path = JoinPath(security.tls_dir, name);
  };
  in_folder(&security.tls_ca, "ca.pem");
  in_folder(&security.tls_cert, StrCat(owner.name, ".pem"));
  in_folder(&security.tls_key, StrCat(owner.name, ".key"));
  for (const auto& [path, what] : {std::pair{security.tls_ca, "the authority's certificate"},
                                   {security.tls_cert, "an own certificate"},
                                   {security.tls_key, "the key of the own certificate"}}) {
    if (path.empty())
      return InvalidArgument("TLS needs ", what,
                             " too: give the folder that carillon certs makes, or all of --tls_ca, "
                             "--tls_cert and --tls_key");
  }
  CARILLON_ASSIGN_OR_RETURN(credentials->authority,
                            PosixEnv().ReadFile(security.tls_ca, kLargestFile));
  CARILLON_ASSIGN_OR_RETURN(credentials->own.certificate,
                            PosixEnv().ReadFile(security.tls_cert, kLargestFile));
  CARILLON_ASSIGN_OR_RETURN(credentials->own.key, ReadSecret(security.tls_key));
  if (const Status status = CheckCertificate(credentials->own, credentials->authority);
      !status.ok())
    return About(
        StrCat(security.tls_cert, " (with ", security.tls_key, " and ", security.tls_ca, ")"),
        status);
  if (!owner.must_be_named) return absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                            NamesOf(credentials->own.certificate));
  if (std::ranges::find(names, IdentityOf(owner.name)) == names.end())
    return FailedPrecondition(security.tls_cert, ": the certificate is of ",
                              names.empty() ? "nobody" : names.front(), ", not of ",
                              IdentityOf(owner.name));
  return absl::OkStatus();
}

}  // namespace

std::string CertificateOwner(const std::string& job, int task) { return StrCat(job, "-", task); }

std::string IdentityOfTask(const std::string& task) {
  constexpr std::string_view kJob = "/job:", kTask = "/task:";
  const size_t job = kJob.size(), end = task.find('/', job), number = task.rfind(kTask);
  if (!task.starts_with(kJob) || end == std::string::npos || number == std::string::npos) return "";
  return IdentityOf(StrCat(task.substr(job, end - job), "-", task.substr(number + kTask.size())));
}

StatusOr<Credentials> LoadCredentials(const Security& given, const CredentialsOwner& owner) {
  const Security security = WithEnvironment(given);
  Credentials credentials;
  if (!security.token.empty()) {
    CARILLON_ASSIGN_OR_RETURN(credentials.token, TokenIn(security.token));
  } else if (!security.token_file.empty()) {
    CARILLON_ASSIGN_OR_RETURN(std::string text, ReadSecret(security.token_file));
    StatusOr<std::string> token = TokenIn(std::move(text));
    if (!token.ok()) return About(security.token_file, token.status());
    credentials.token = *std::move(token);
  }
  if (!security.tls_dir.empty() || !security.tls_ca.empty() || !security.tls_cert.empty() ||
      !security.tls_key.empty())
    CARILLON_RETURN_IF_ERROR(LoadTls(security, owner, &credentials));
  return credentials;
}

}  // namespace carillon
