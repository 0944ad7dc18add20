#include "distributed/serving/socket.h"

#include <atomic>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/certificates.h"
#include "distributed/cluster/certificate_folder.h"
#include "distributed/serving/output_queue.h"
#include "temporary_folder.h"

namespace carillon {
namespace {

// The other end of a TLS connection: OpenSSL as a client, on a socket that blocks.
class TlsClient {
 public:
  TlsClient(int descriptor, const std::string& folder, const std::string& owner)
      : descriptor_(descriptor), context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free) {
    const std::string own = folder + "/" + owner;
    EXPECT_EQ(SSL_CTX_load_verify_locations(context_.get(), (folder + "/ca.pem").c_str(), nullptr),
              1);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (!owner.empty()) {
      EXPECT_EQ(
          SSL_CTX_use_certificate_file(context_.get(), (own + ".pem").c_str(), SSL_FILETYPE_PEM),
          1);
      EXPECT_EQ(
          SSL_CTX_use_PrivateKey_file(context_.get(), (own + ".key").c_str(), SSL_FILETYPE_PEM), 1);
    }
    tls_.reset(SSL_new(context_.get()));
    SSL_set_fd(tls_.get(), descriptor);
  }
  ~TlsClient() { close(descriptor_); }

  bool Connect() { return SSL_connect(tls_.get()) == 1; }
  bool Write(std::string_view bytes) {
    return SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())) ==
           static_cast<int>(bytes.size());
  }
  std::string Read(size_t size) {
    std::string bytes(size, '\0');
    size_t filled = 0;
    while (filled < size) {
      const int read = SSL_read(tls_.get(), bytes.data() + filled, static_cast<int>(size - filled));
      if (read <= 0) break;
      filled += static_cast<size_t>(read);
    }
    bytes.resize(filled);
    return bytes;
  }

 private:
  struct Freer {
    void operator()(SSL* tls) const { SSL_free(tls); }
  };
  const int descriptor_;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, Freer> tls_;
};

class SocketTest : public testing::Test {
 protected:
  SocketTest() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    EXPECT_EQ(fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
    const int small = 8 << 10;  // so that it is soon full
    setsockopt(ends_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
  }

  int near() const { return ends_[0]; }
  int far() const { return ends_[1]; }

  // Waits for so many bytes; fewer when the connection ends.
  static std::string Read(Socket& socket, size_t size) {
    std::string bytes;
    while (bytes.size() < size) {
      char first[3], second[100];
      const iovec pieces[] = {{first, sizeof(first)}, {second, sizeof(second)}};
      const ssize_t read = socket.Read(pieces);
      if (read < 0) break;
      if (read == 0) std::this_thread::yield();
      const auto all = static_cast<size_t>(read);
      bytes.append(first, std::min(all, sizeof(first)));
      if (all > sizeof(first)) bytes.append(second, all - sizeof(first));
    }
    return bytes;
  }

  // Writes what is queued, as far as that goes. False: the connection is over.
  static bool Flush(Socket& socket, OutputQueue& queue, bool* is_blocked) {
    *is_blocked = false;
    std::vector<iovec> vectors;
    while (!queue.empty() && !*is_blocked) {
      queue.Gather(&vectors);
      size_t all = 0;
      for (const iovec& vector : vectors) all += vector.iov_len;
      const ssize_t sent = socket.Write(vectors);
      if (sent < 0) return false;
      queue.Remove(static_cast<size_t>(sent));
      *is_blocked = static_cast<size_t>(sent) < all;
    }
    return true;
  }

  // Fills the queue while the other end reads nothing, adds to it, and lets the other end read;
  // `read` runs on a thread of its own. The bytes have to come as they are.
  static void ExpectAllComes(Socket& socket, const std::function<std::string(size_t)>& read) {
    std::mt19937 random(11);
    OutputQueue queue;
    std::string expected;
    bool is_blocked = false;
    const auto add = [&](size_t size, bool is_owned) {
      std::string bytes(size, static_cast<char>('a' + expected.size() % 26));
      expected += bytes;
      if (is_owned) return queue.Append(bytes);
      auto owner = std::make_shared<MessagePieces>();
      owner->AddFields(std::move(bytes));
      const std::string_view view = owner->pieces()[0].view();
      queue.Append(view, owner);
    };
    for (int round = 0; round < 40; ++round) {
      while (!is_blocked) {
        add(1 + random() % 5000, true);
        add(2100 + random() % 5000, false);
        add(1 + random() % 5000, true);
        ASSERT_TRUE(Flush(socket, queue, &is_blocked)) << socket.error();
      }
      // The last piece of what waits grows, whatever it has been tried with.
      for (int i = 0; i < 4; ++i) {
        add(1 + random() % 12'000, random() % 4 != 0);
        ASSERT_TRUE(Flush(socket, queue, &is_blocked)) << socket.error();
      }
      std::string got;
      std::thread reader([&] { got = read(expected.size()); });
      while (!queue.empty()) {
        if (!Flush(socket, queue, &is_blocked)) break;
        std::this_thread::yield();
      }
      EXPECT_TRUE(queue.empty()) << socket.error();
      if (!queue.empty()) socket.ShutDown();
      reader.join();
      ASSERT_EQ(got, expected);
      expected.clear();
      is_blocked = false;
    }
  }

 private:
  int ends_[2];
};

TEST_F(SocketTest, MovesBytesWithoutTls) {
  Socket socket(near(), nullptr);
  EXPECT_TRUE(socket.is_plain());
  EXPECT_EQ(socket.PeerNames(), std::vector<std::string>());
  char byte;
  const iovec piece{&byte, 1};
  EXPECT_EQ(socket.Read({&piece, 1}), 0);  // nothing yet
  EXPECT_EQ(send(far(), "hello", 5, 0), 5);
  EXPECT_EQ(Read(socket, 5), "hello");
  ExpectAllComes(socket, [&](size_t size) {
    std::string bytes(size, '\0');
    bytes.resize(static_cast<size_t>(
        std::max<ssize_t>(recv(far(), bytes.data(), bytes.size(), MSG_WAITALL), 0)));
    return bytes;
  });
  close(far());
  EXPECT_EQ(socket.Read({&piece, 1}), -1);
  EXPECT_EQ(socket.error(), "");
  EXPECT_EQ(socket.Write({&piece, 1}), -1);  // and no signal
  EXPECT_EQ(socket.error(), "");
}

class TlsSocketTest : public SocketTest {
 protected:
  TlsSocketTest() {
    EXPECT_TRUE(MakeCertificateFolder({.folder = folder_.path() + "/certs",
                                       .cluster = {{"ps", {"h:1"}}, {"worker", {"h:2"}}}})
                    .ok());
    tls_ =
        TlsContext::Make(LoadCredentials({.tls_dir = certs()}, {.name = "ps-0"}).value()).value();
  }
  std::string certs() const { return folder_.path() + "/certs"; }

  const TestFolder folder_;
  std::unique_ptr<TlsContext> tls_;
};

TEST_F(TlsSocketTest, KnowsTheOtherEnd) {
  Socket socket(near(), tls_.get());
  EXPECT_FALSE(socket.is_plain());
  TlsClient client(far(), certs(), "worker-0");
  std::thread thread([&] { EXPECT_TRUE(client.Connect() && client.Write("hello")); });
  EXPECT_EQ(Read(socket, 5), "hello");
  thread.join();
  const std::vector<std::string> names = socket.PeerNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "worker-0.carillon"), names.end());
}

TEST_F(TlsSocketTest, WritesGoOnWhereTheyWereHeldUp) {
  Socket socket(near(), tls_.get());
  TlsClient client(far(), certs(), "worker-0");
  std::thread thread([&] { EXPECT_TRUE(client.Connect() && client.Write("hello")); });
  EXPECT_EQ(Read(socket, 5), "hello");
  thread.join();
  ExpectAllComes(socket, [&](size_t size) { return client.Read(size); });
}

TEST_F(TlsSocketTest, WithoutACertificateThereIsNoConnection) {
  Socket socket(near(), tls_.get());
  TlsClient client(far(), certs(), "");
  std::thread thread([&] {
    client.Connect();  // the server's refusal may come only later
    client.Read(1);
  });
  EXPECT_EQ(Read(socket, 1), "");
  EXPECT_NE(socket.error().find("certificate"), std::string::npos) << socket.error();
  socket.ShutDown();
  thread.join();
}

TEST_F(TlsSocketTest, NonsenseIsAnError) {
  Socket socket(near(), tls_.get());
  EXPECT_EQ(send(far(), "\x16 this is no TLS at all", 22, 0), 22);
  EXPECT_EQ(Read(socket, 1), "");
  EXPECT_TRUE(socket.error().starts_with("TLS: ")) << socket.error();
  close(far());
}

TEST_F(TlsSocketTest, CertificatesThatAreNoneAreRefused) {
  Credentials credentials = LoadCredentials({.tls_dir = certs()}, {.name = "ps-0"}).value();
  const Credentials good = credentials;
  credentials.own.key = "no key";
  EXPECT_EQ(TlsContext::Make(credentials).status().code(), absl::StatusCode::kInvalidArgument);
  credentials = good;
  credentials.own.certificate = "";
  EXPECT_EQ(TlsContext::Make(credentials).status().code(), absl::StatusCode::kInvalidArgument);
  credentials = good;
  credentials.authority = "nobody";
  EXPECT_EQ(TlsContext::Make(credentials).status().code(), absl::StatusCode::kInvalidArgument);
  // The key of another certificate.
  credentials = good;
  credentials.own.key = LoadCredentials({.tls_dir = certs()}, {.name = "worker-0"}).value().own.key;
  EXPECT_EQ(TlsContext::Make(credentials).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon
