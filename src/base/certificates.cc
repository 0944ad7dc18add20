#include "base/certificates.h"

#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <memory>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace carillon {
namespace {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    free(pointer);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using X509Pointer = std::unique_ptr<X509, Free<X509_free>>;
using Store = std::unique_ptr<X509_STORE, Free<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;
using Number = std::unique_ptr<BIGNUM, Free<BN_free>>;

// OpenSSL keeps its errors in a queue of the thread; nothing of them must be left behind.
Status OpenSslFailed(const char* what) {
  char reason[256];
  ERR_error_string_n(ERR_get_error(), reason, sizeof(reason));
  ERR_clear_error();
  return Internal("OpenSSL cannot ", what, ": ", reason);
}

Bio Reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a pass phrase is refused: nobody is there to type it.
int NoPassPhrase(char*, int, int, void*) { return -1; }

StatusOr<X509Pointer> ReadCertificate(const std::string& pem) {
  X509Pointer certificate(PEM_read_bio_X509(Reader(pem).get(), nullptr, NoPassPhrase, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) return InvalidArgument("it holds no certificate in PEM");
  return certificate;
}

StatusOr<Key> ReadKey(const std::string& pem) {
  Key key(PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, NoPassPhrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) return InvalidArgument("it holds no key in PEM, or one with a pass phrase");
  return key;
}

template <typename Write>
StatusOr<std::string> ToPem(Write write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  char* data = nullptr;
  if (bio == nullptr || write(bio.get()) != 1) return OpenSslFailed("write PEM");
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

Status AddExtension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1)
    return OpenSslFailed("add an extension to a certificate");
  return absl::OkStatus();
}

bool IsAddress(const std::string& host) {
  std::array<uint8_t, 16> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Everything but extensions and signature.
StatusOr<X509Pointer> Begin(const std::string& name, int days, EVP_PKEY* key) {
  X509Pointer certificate(X509_new());
  const Number serial(BN_new());
  const auto* common_name = reinterpret_cast<const unsigned char*>(name.data());
  // A clock that is a little slow must not refuse a new certificate.
  constexpr long kBefore = -3600;
  if (certificate == nullptr || serial == nullptr ||
      X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      BN_rand(serial.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) == nullptr ||
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kBefore) == nullptr ||
      X509_time_adj_ex(X509_getm_notAfter(certificate.get()), days, 0, nullptr) == nullptr ||
      X509_set_pubkey(certificate.get(), key) != 1 ||
      X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                                 common_name, static_cast<int>(name.size()), -1, 0) != 1)
    return OpenSslFailed("make a certificate");
  return certificate;
}

StatusOr<Certificate> Sign(X509* certificate, X509* issuer, EVP_PKEY* key, EVP_PKEY* issuer_key) {
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1)
    return OpenSslFailed("name the issuer of a certificate");
  CARILLON_RETURN_IF_ERROR(AddExtension(certificate, issuer, NID_subject_key_identifier, "hash"));
  if (certificate != issuer)
    CARILLON_RETURN_IF_ERROR(
        AddExtension(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
  if (X509_sign(certificate, issuer_key, EVP_sha256()) == 0)
    return OpenSslFailed("sign a certificate");
  Certificate made;
  CARILLON_ASSIGN_OR_RETURN(made.certificate,
                            ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); }));
  CARILLON_ASSIGN_OR_RETURN(made.key, ToPem([&](BIO* bio) {
                              return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0,
                                                                   nullptr, nullptr);
                            }));
  return made;
}

StatusOr<Key> NewKey() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailed("make a key");
  return key;
}

}  // namespace

StatusOr<Certificate> MakeAuthority(const std::string& name, int days) {
  CARILLON_ASSIGN_OR_RETURN(const Key key, NewKey());
  CARILLON_ASSIGN_OR_RETURN(const X509Pointer certificate, Begin(name, days, key.get()));
  X509* const own = certificate.get();
  CARILLON_RETURN_IF_ERROR(
      AddExtension(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  CARILLON_RETURN_IF_ERROR(AddExtension(own, own, NID_key_usage, "critical,keyCertSign"));
  return Sign(own, own, key.get(), key.get());
}

StatusOr<Certificate> MakeCertificate(const CertificateRequest& request,
                                      const Certificate& authority) {
  CARILLON_ASSIGN_OR_RETURN(const X509Pointer issuer, ReadCertificate(authority.certificate));
  CARILLON_ASSIGN_OR_RETURN(const Key issuer_key, ReadKey(authority.key));
  CARILLON_ASSIGN_OR_RETURN(const Key key, NewKey());
  CARILLON_ASSIGN_OR_RETURN(const X509Pointer certificate,
                            Begin(request.name, request.days, key.get()));
  std::string names = StrCat("DNS:", request.name);
  for (const std::string& host : request.hosts) {
    // The list is OpenSSL's own small language.
    if (host.empty() || host.find_first_of(",;= \t\r\n") != std::string::npos)
      return InvalidArgument("'", host, "' is no host that a certificate can name");
    StrAppend(&names, IsAddress(host) ? ",IP:" : ",DNS:", host);
  }
  X509* const own = certificate.get();
  for (const auto& [id, value] : std::vector<std::pair<int, std::string>>{
           {NID_basic_constraints, "critical,CA:FALSE"},
           {NID_key_usage, "critical,digitalSignature"},
           {NID_ext_key_usage, request.can_serve ? "serverAuth,clientAuth" : "clientAuth"},
           {NID_subject_alt_name, names}}) {
    CARILLON_RETURN_IF_ERROR(AddExtension(own, issuer.get(), id, value));
  }
  return Sign(own, issuer.get(), key.get(), issuer_key.get());
}

StatusOr<std::vector<std::string>> NamesOf(const std::string& pem) {
  CARILLON_ASSIGN_OR_RETURN(const X509Pointer certificate, ReadCertificate(pem));
  std::vector<std::string> found;
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const auto* text = ASN1_STRING_get0_data(name->d.dNSName);
    found.emplace_back(reinterpret_cast<const char*>(text),
                       static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  return found;
}

Status CheckCertificate(const Certificate& own, const std::string& authority) {
  const auto named = [](const char* what, const Status& status) {
    return InvalidArgument(what, ": ", std::string(status.message()));
  };
  const StatusOr<X509Pointer> certificate = ReadCertificate(own.certificate);
  if (!certificate.ok()) return named("the certificate", certificate.status());
  const StatusOr<Key> key = ReadKey(own.key);
  if (!key.ok()) return named("the key", key.status());
  const StatusOr<X509Pointer> root = ReadCertificate(authority);
  if (!root.ok()) return named("the authority's certificate", root.status());
  if (X509_check_private_key(certificate->get(), key->get()) != 1) {
    ERR_clear_error();
    return FailedPrecondition("the key is not the one of the certificate");
  }
  // All certificates of the authority's file count, and those that follow the own one help to get
  // to them.
  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  std::unique_ptr<STACK_OF(X509),
                  decltype([](STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); })>
      between(sk_X509_new_null());
  if (store == nullptr || context == nullptr || between == nullptr)
    return OpenSslFailed("check a certificate");
  const Bio roots = Reader(authority), chain = Reader(own.certificate);
  while (const X509Pointer one{PEM_read_bio_X509(roots.get(), nullptr, NoPassPhrase, nullptr)})
    X509_STORE_add_cert(store.get(), one.get());
  while (X509* one = PEM_read_bio_X509(chain.get(), nullptr, NoPassPhrase, nullptr))
    sk_X509_push(between.get(), one);
  ERR_clear_error();
  if (X509_STORE_CTX_init(context.get(), store.get(), certificate->get(), between.get()) != 1)
    return OpenSslFailed("check a certificate");
  if (X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  const int error = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return FailedPrecondition("the certificate, or its authority's, has expired");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return FailedPrecondition(
          "the certificate is not valid yet: is the clock of this machine right?");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return FailedPrecondition("the authority has not signed the certificate");
    default:
      return FailedPrecondition("the certificate does not hold: ",
                                X509_verify_cert_error_string(error));
  }
}

StatusOr<std::string> MakeToken() {
  std::array<unsigned char, 32> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return OpenSslFailed("make a random number");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kDigits[byte >> 4];
    token += kDigits[byte & 15];
  }
  return token;
}

bool TokensAreEqual(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace carillon
