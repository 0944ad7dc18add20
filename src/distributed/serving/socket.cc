#include "distributed/serving/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <linux/sockios.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strings.h"

namespace carillon {
namespace {

// What one record of TLS holds.
constexpr size_t kRecord = 16 << 10;

std::string LastTlsError() {
  std::string text;
  while (const unsigned long error = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(error);
    if (text.empty() && reason != nullptr) text = reason;
  }
  return text;
}

template <typename T, void (*Free)(T*)>
struct Freer {
  void operator()(T* object) const { Free(object); }
};
using Bio = std::unique_ptr<BIO, Freer<BIO, BIO_free_all>>;
using X509Pointer = std::unique_ptr<X509, Freer<X509, X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, EVP_PKEY_free>>;

Bio BioOf(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// The server's certificate, those that vouch for it, and its key.
bool ShowOwn(SSL_CTX* context, const Certificate& own) {
  const Bio certificates = BioOf(own.certificate), key = BioOf(own.key);
  const X509Pointer first(PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr));
  if (first == nullptr || SSL_CTX_use_certificate(context, first.get()) != 1) return false;
  while (X509* next = PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) != 1) {
      X509_free(next);
      return false;
    }
  }
  ERR_clear_error();  // the end of the file is reported as one
  const KeyPointer read(PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr));
  return read != nullptr && SSL_CTX_use_PrivateKey(context, read.get()) == 1;
}

bool TrustAuthority(SSL_CTX* context, const std::string& pem) {
  const Bio bio = BioOf(pem);
  bool any = false;
  while (const X509Pointer one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get()) != 1 ||
        SSL_CTX_add_client_CA(context, one.get()) != 1)
      return false;
    any = true;
  }
  ERR_clear_error();
  return any;
}

// Clients of gRPC insist on an answer to the protocols that they offer.
int ChooseHttp2(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                const unsigned char* offered, unsigned int offered_size, void*) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_size, kHttp2, sizeof(kHttp2), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// OpenSSL's own way to a socket raises SIGPIPE when the other end is gone.
int AfterBio(BIO* bio, ssize_t moved, void (*retry)(BIO*)) {
  BIO_clear_retry_flags(bio);
  if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) retry(bio);
  return static_cast<int>(moved);
}
int DescriptorOf(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}
int WriteBio(BIO* bio, const char* bytes, int size) {
  return AfterBio(bio, send(DescriptorOf(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL),
                  [](BIO* one) { BIO_set_retry_write(one); });
}
int ReadBio(BIO* bio, char* bytes, int size) {
  return AfterBio(bio, recv(DescriptorOf(bio), bytes, static_cast<size_t>(size), 0),
                  [](BIO* one) { BIO_set_retry_read(one); });
}
long ControlBio(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO* BioOfSocket(int descriptor) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write(made, WriteBio);
    BIO_meth_set_read(made, ReadBio);
    BIO_meth_set_ctrl(made, ControlBio);
    return made;
  }();
  BIO* bio = BIO_new(method);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)));
  BIO_set_init(bio, 1);
  return bio;
}

ssize_t AfterSystemCall(ssize_t moved, std::string* error) {
  if (moved >= 0) return moved;
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  // A client that ends abruptly is no news.
  if (errno != ECONNRESET && errno != EPIPE) *error = std::strerror(errno);
  return -1;
}

}  // namespace

StatusOr<std::unique_ptr<TlsContext>> TlsContext::Make(const Credentials& credentials) {
  TlsContext::Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX* const raw = context.get();
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1 ||
      !ShowOwn(raw, credentials.own) || !TrustAuthority(raw, credentials.authority))
    return InvalidArgument("TLS does not take the certificates: ", LastTlsError());
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_alpn_select_cb(raw, ChooseHttp2, nullptr);
  // Every connection shows its certificate: none goes on where another one ended.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(context)));
}

Socket::Socket(int descriptor, const TlsContext* tls)
    : descriptor_(descriptor),
      tls_(tls == nullptr ? nullptr : SSL_new(tls->context_.get()), SSL_free) {
  if (tls_ == nullptr) return;
  BIO* const bio = BioOfSocket(descriptor_);
  SSL_set_bio(tls_.get(), bio, bio);
  SSL_set_accept_state(tls_.get());
}

Socket::~Socket() { close(descriptor_); }

bool Socket::has_unsent() const {
  int bytes = 0;
  return ioctl(descriptor_, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void Socket::ShutDown() { shutdown(descriptor_, SHUT_RDWR); }

ssize_t Socket::Read(std::span<const iovec> bytes) {
  if (!is_plain()) return ReadTls(bytes);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(bytes.data());
  message.msg_iovlen = bytes.size();
  const ssize_t size = recvmsg(descriptor_, &message, 0);
  return size == 0 ? -1 : AfterSystemCall(size, &error_);
}

ssize_t Socket::ReadTls(std::span<const iovec> bytes) {
  ssize_t all = 0;
  for (const iovec& piece : bytes) {
    for (size_t filled = 0; filled < piece.iov_len;) {
      ERR_clear_error();
      const int size =
          SSL_read(tls_.get(), static_cast<char*>(piece.iov_base) + filled,
                   static_cast<int>(std::min<size_t>(piece.iov_len - filled, INT32_MAX)));
      if (size <= 0) {
        const ssize_t end = AfterTls(size, true);
        return all > 0 ? all : end;
      }
      filled += static_cast<size_t>(size);
      all += size;
    }
  }
  return all;
}

ssize_t Socket::AfterTls(int result, bool is_read) {
  const int error = SSL_get_error(tls_.get(), result);
  if (is_read) reading_wants_to_write_ = error == SSL_ERROR_WANT_WRITE;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return 0;
  if (error == SSL_ERROR_SSL) error_ = StrCat("TLS: ", LastTlsError());
  return -1;
}

ssize_t Socket::Write(std::span<const iovec> bytes) {
  if (is_plain()) {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(bytes.data());
    message.msg_iovlen = bytes.size();
    return AfterSystemCall(sendmsg(descriptor_, &message, MSG_NOSIGNAL), &error_);
  }
  // Small pieces share a record, which is filled as far as it goes: what TLS was given and could
  // not send it has to be given again, not less of it, however the bytes are cut by then.
  const auto view = [&](size_t i, size_t at) {
    return std::string_view(static_cast<const char*>(bytes[i].iov_base), bytes[i].iov_len)
        .substr(at);
  };
  ssize_t all = 0;
  size_t at = 0;  // of piece i, given to TLS
  for (size_t i = 0; i < bytes.size();) {
    std::array<char, kRecord> record;
    std::string_view piece = view(i, at);
    if (piece.size() >= kRecord) {
      ++i;
      at = 0;
    } else {
      size_t filled = 0;
      while (i < bytes.size() && filled < kRecord) {
        const size_t copied = view(i, at).copy(record.data() + filled, kRecord - filled);
        filled += copied;
        at += copied;
        if (at < bytes[i].iov_len) break;
        ++i;
        at = 0;
      }
      piece = {record.data(), filled};
    }
    const ssize_t written = WriteTls(piece);
    if (written < 0) return all > 0 ? all : -1;
    all += written;
    if (written < static_cast<ssize_t>(piece.size())) break;
  }
  return all;
}

ssize_t Socket::WriteTls(std::string_view bytes) {
  ssize_t all = 0;
  while (!bytes.empty()) {
    ERR_clear_error();
    const int size = SSL_write(tls_.get(), bytes.data(),
                               static_cast<int>(std::min<size_t>(bytes.size(), INT32_MAX)));
    if (size <= 0) {
      const ssize_t end = AfterTls(size, false);
      return all > 0 ? all : end;
    }
    all += size;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return all;
}

std::vector<std::string> Socket::PeerNames() const {
  std::vector<std::string> names;
  if (is_plain()) return names;
  const X509Pointer certificate(SSL_get1_peer_certificate(tls_.get()));
  if (certificate == nullptr) return names;
  const Bio pem(BIO_new(BIO_s_mem()));
  char* text = nullptr;
  PEM_write_bio_X509(pem.get(), certificate.get());
  const long size = BIO_get_mem_data(pem.get(), &text);
  return NamesOf(std::string(text, static_cast<size_t>(size))).value_or(names);
}

}  // namespace carillon
