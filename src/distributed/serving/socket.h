// Socket: the bytes of a connection, plain or through TLS.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <sys/uio.h>
#include <vector>

#include "base/status.h"
#include "distributed/cluster/credentials.h"

struct ssl_ctx_st;
struct ssl_st;

namespace carillon {

// What a server shows in TLS, and asks of its clients: a certificate of the same authority.
// Thread-safe.
class TlsContext {
 public:
  // InvalidArgument when the certificates cannot be used.
  static StatusOr<std::unique_ptr<TlsContext>> Make(const Credentials& credentials);

 private:
  friend class Socket;
  using Context = std::unique_ptr<ssl_ctx_st, void (*)(ssl_ctx_st*)>;
  explicit TlsContext(Context context) : context_(std::move(context)) {}
  const Context context_;
};

// A connected socket that never blocks. Not thread-safe.
class Socket {
 public:
  // Owns the descriptor. `tls`, if there is one, outlives the socket; the handshake is part of the
  // first reads.
  Socket(int descriptor, const TlsContext* tls);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }

  // How many bytes were moved; fewer than given when no more can be, at the moment. -1: the
  // connection is over.
  ssize_t Read(std::span<const iovec> bytes);
  ssize_t Write(std::span<const iovec> bytes);

  // Why it is over, if somebody is at fault; empty: the other end has closed it.
  const std::string& error() const { return error_; }
  // Whether reading goes on only when something can be written.
  bool reading_wants_to_write() const { return reading_wants_to_write_; }
  bool is_plain() const { return tls_ == nullptr; }

  // Of TLS, once something was read: the DNS names of the other end's certificate.
  std::vector<std::string> PeerNames() const;

  // Whether something that was written has not come to the other machine yet, as far as is known.
  bool has_unsent() const;

  // Nothing is read or written any more, and the other end sees that.
  void ShutDown();

 private:
  ssize_t ReadTls(std::span<const iovec> bytes);
  ssize_t WriteTls(std::string_view bytes);
  // -1, or 0 when the operation has to wait.
  ssize_t AfterTls(int result, bool is_read);

  const int descriptor_;
  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> tls_;
  bool reading_wants_to_write_ = false;
  std::string error_;
};

}  // namespace carillon
