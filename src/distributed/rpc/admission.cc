#include "distributed/rpc/admission.h"

#include <algorithm>

#include "base/strings.h"
#include "distributed/serving/call_metadata.h"

namespace carillon {
namespace {

constexpr const char* kTokenKey = "authorization";
constexpr std::string_view kScheme = "Bearer ";

// What gRPC says of a certificate that is good, but of somebody else.
constexpr const char* kWrongName = "is not in peer certificate";

constexpr const char* kGiveToken =
    ": give the token file of the job to every task and client, by --token_file, "
    "CARILLON_TOKEN_FILE or Security::token_file (TensorFlow's client has no way to; see carillon "
    "server --allow_plain_clients)";

bool Contains(std::string_view text, std::string_view part) {
  const auto equal = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
  return std::ranges::search(text, part, equal).begin() != text.end();
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> ToChannelCredentials(const Credentials& credentials) {
  if (!credentials.has_tls()) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = credentials.authority,
                               .pem_private_key = credentials.own.key,
                               .pem_cert_chain = credentials.own.certificate});
}

void Sign(const Credentials& credentials, grpc::ClientContext* call) {
  if (credentials.has_token()) call->AddMetadata(kTokenKey, StrCat(kScheme, credentials.token));
}

bool IsRefusal(const Status& status) {
  return status.code() == absl::StatusCode::kUnauthenticated ||
         status.code() == absl::StatusCode::kPermissionDenied ||
         (status.code() == absl::StatusCode::kUnavailable &&
          (Contains(std::string(status.message()), "handshake failed") ||
           Contains(std::string(status.message()), kWrongName)));
}

Status WithAdvice(const Status& status) {
  const std::string message(status.message());
  const auto advise = [&](const char* advice) {
    return Status(status.code(), StrCat(message, ". ", advice));
  };
  if (Contains(message, "wrong version number") || Contains(message, "wrong_version_number"))
    return advise(
        "The server there speaks no TLS: give it certificates too, or take them from this side");
  if (Contains(message, "certificate verify failed") ||
      Contains(message, "certificate_verify_failed"))
    return advise(
        "The certificate that the server shows has expired, or another authority has signed it: "
        "every task and client needs certificates of the same carillon certs");
  if (Contains(message, kWrongName))
    return advise(
        "The certificate that the server shows is not of the task, or host, that should be there");
  return status;
}

Status Admission::CheckToken(const CallInfo& call) const {
  if (!credentials_->has_token()) return absl::OkStatus();
  const std::string* found = call.Find(kTokenKey);
  if (found == nullptr)
    return absl::UnauthenticatedError(StrCat("the call carries no token", kGiveToken));
  std::string_view shown = *found;
  if (shown.starts_with(kScheme)) shown.remove_prefix(kScheme.size());
  if (TokensAreEqual(shown, credentials_->token)) return absl::OkStatus();
  return absl::UnauthenticatedError(StrCat("the call carries a wrong token", kGiveToken));
}

Status Admission::CheckTls(const CallInfo& call) const {
  if (!credentials_->has_tls() || call.caller->has_certificate) return absl::OkStatus();
  return absl::UnauthenticatedError("the caller has shown no certificate");
}

Status Admission::CheckIdentity(const CallInfo& call, const std::string& task) const {
  CARILLON_RETURN_IF_ERROR(CheckTls(call));
  if (!credentials_->has_tls()) return absl::OkStatus();
  const std::string identity = IdentityOfTask(task);
  const std::vector<std::string>& names = call.caller->names;
  if (std::ranges::find(names, identity) != names.end()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      StrCat("the caller says that it is ", task, ", and its certificate is of ",
             names.empty() ? "nobody" : names.front(), ", not of ", identity));
}

Status Admission::Answer(const Status& status, const CallInfo& call) {
  if (!status.ok())
    log_.Warn("refused ", call.caller->address, ": ",
              WriteForLog({status.message().data(), status.message().size()}));
  return status;
}

Status Admission::AdmitTask(const CallInfo& call, const std::string& task) {
  if (credentials_->empty()) return absl::OkStatus();
  const Status token = CheckToken(call);
  return Answer(token.ok() ? CheckIdentity(call, task) : token, call);
}

Status Admission::AdmitClient(const CallInfo& call) {
  if (credentials_->empty()) return absl::OkStatus();
  // Whoever shows credentials is held to them.
  if (plain_clients_ && call.Find(kTokenKey) == nullptr && call.caller->is_on_this_machine)
    return absl::OkStatus();
  const Status token = CheckToken(call);
  return Answer(token.ok() ? CheckTls(call) : token, call);
}

}  // namespace carillon
