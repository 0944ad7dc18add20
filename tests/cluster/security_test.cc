// Who gets into a cluster, and who does not: tasks and clients in one process, over real gRPC.
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "carillon/carillon.h"
#include "distributed/cluster/certificate_folder.h"
#include "free_port.h"
#include "temporary_folder.h"

namespace carillon {
namespace {

std::string Local() { return "127.0.0.1:" + std::to_string(FreePort()); }

const std::string kToken = "the-token-of-this-job", kOther = "the-token-of-another";

class SecurityTest : public testing::Test {
 protected:
  SecurityTest() : cluster_{{"ps", {Local()}}, {"worker", {Local(), Local()}}} {
    certs_ = MakeCertificates("certs");
    others_ = MakeCertificates("others");
  }

  std::string MakeCertificates(const std::string& name) const {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(MakeCertificateFolder({.folder = path, .cluster = cluster_}).ok());
    return path;
  }
  std::unique_ptr<Server> Start(const std::string& job, int task, const Security& security,
                                bool allow_plain_clients = false) const {
    return std::make_unique<Server>(ServerOptions{.job = job,
                                                  .task = task,
                                                  .cluster = cluster_,
                                                  .connect_deadline = std::chrono::seconds(60),
                                                  .security = security,
                                                  .allow_plain_clients = allow_plain_clients});
  }
  // The certificate and key of one task, shown by whoever has them.
  Security FilesOf(const std::string& owner, const std::string& certs) const {
    return {.tls_ca = certs_ + "/ca.pem",
            .tls_cert = certs + "/" + owner + ".pem",
            .tls_key = certs + "/" + owner + ".key"};
  }

  // Trains on the ps and the first worker, and learns.
  void Train(const std::string& target, const Security& security) const {
    Graph g;
    const DeviceScope on(g, ReplicaDeviceSetter(cluster_, {.worker_task = 0}));
    const Variable w(g, "w", Tensor::Scalar(0.0f));
    const Output loss = Square(w.read() - 3.0f);
    const Operation train = GradientDescent(0.25).Minimize(loss);
    Session session(target, g, {.security = security});
    session.Run(GlobalVariablesInitializer(g));
    for (int step = 0; step < 10; ++step) session.Run(train);
    EXPECT_LT(session.Run(loss).scalar<float>(), 0.01f);
  }
  // Why a client does not get in; with its code.
  static Error RefusalOf(const std::string& target, const Security& security,
                         const std::string& device = "") {
    Graph g;
    const DeviceScope on(g, device);
    const Output value = Const(g, 1.0f) + Placeholder(g, kFloat, {});
    Session session(target, g, {.connect_timeout = std::chrono::seconds(60), .security = security});
    try {
      session.Run(value, {{value.op().input(1), Tensor::Scalar(2.0f)}});
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, "it was let in");
  }
  static void ExpectRefused(const Error& error, Code code, const std::string& reason) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }

  const ClusterSpec cluster_;
  const TestFolder folder_;
  std::string certs_, others_;
};

TEST_F(SecurityTest, AClusterTrainsWithATokenWithTlsAndWithBoth) {
  for (const Security& security : {Security{.token = kToken}, Security{.tls_dir = certs_},
                                   Security{.token = kToken, .tls_dir = certs_}}) {
    const auto ps = Start("ps", 0, security), worker = Start("worker", 0, security);
    Train(worker->target(), security);
  }
}

TEST_F(SecurityTest, ClientsNeedTheToken) {
  const Security right{.token = kToken};
  const auto ps = Start("ps", 0, right), worker = Start("worker", 0, right);
  ExpectRefused(RefusalOf(worker->target(), {}), Code::kUnauthenticated, "carries no token");
  ExpectRefused(RefusalOf(worker->target(), {.token = kOther}), Code::kUnauthenticated,
                "carries a wrong token");
  ExpectRefused(RefusalOf(worker->target(), {.token = kToken + "x"}), Code::kUnauthenticated,
                "--token_file");
  Train(worker->target(), right);
  EXPECT_EQ(worker->num_sessions(), 0);
}

TEST_F(SecurityTest, TasksNeedTheToken) {
  const Security right{.token = kToken}, wrong{.token = kOther};
  const auto ps = Start("ps", 0, right), worker = Start("worker", 0, right);
  for (const Security& other : {wrong, Security{}}) {
    const auto stranger = Start("worker", 1, other);
    const Error error = RefusalOf(stranger->target(), other, "/job:ps/task:0");
    ExpectRefused(error, Code::kUnauthenticated, "token");
    ExpectRefused(error, Code::kUnauthenticated, "/job:ps/replica:0/task:0");
  }
  Train(worker->target(), right);
}

TEST_F(SecurityTest, ClientsNeedACertificateOfTheAuthority) {
  const Security right{.tls_dir = certs_};
  const auto ps = Start("ps", 0, right), worker = Start("worker", 0, right);
  const std::string target = worker->target();
  ExpectRefused(RefusalOf(target, {}), Code::kUnauthenticated, "takes only TLS");
  ExpectRefused(RefusalOf(target, {.tls_dir = others_}), Code::kUnavailable,
                "another authority has signed it");
  Train(target, right);
  // Under a name that its certificate does not have.
  ExpectRefused(RefusalOf("grpc://localhost:" + std::to_string(worker->port()), right),
                Code::kUnavailable, "not of the task, or host");
}

TEST_F(SecurityTest, WithBothBothAreNeeded) {
  const Security right{.token = kToken, .tls_dir = certs_};
  const auto ps = Start("ps", 0, right), worker = Start("worker", 0, right);
  ExpectRefused(RefusalOf(worker->target(), {.tls_dir = certs_}), Code::kUnauthenticated,
                "carries no token");
  ExpectRefused(RefusalOf(worker->target(), {.token = kToken}), Code::kUnauthenticated,
                "takes only TLS");
  Train(worker->target(), right);
}

TEST_F(SecurityTest, TasksNeedACertificateOfTheAuthority) {
  const Security right{.tls_dir = certs_};
  const auto ps = Start("ps", 0, right), worker = Start("worker", 0, right);
  {
    const Security wrong{.tls_dir = others_};
    const auto stranger = Start("worker", 1, wrong);
    ExpectRefused(RefusalOf(stranger->target(), wrong, "/job:ps/task:0"), Code::kUnavailable,
                  "another authority has signed it");
  }
  {
    const auto plain = Start("worker", 1, {});
    ExpectRefused(RefusalOf(plain->target(), {}, "/job:ps/task:0"), Code::kUnauthenticated,
                  "takes only TLS");
  }
  Train(worker->target(), right);
}

// What the second worker has is good for the second worker alone.
TEST_F(SecurityTest, NobodyActsAsATaskWithTheCertificateOfAnother) {
  EXPECT_THROW(Start("ps", 0, FilesOf("worker-1", certs_)), Error);  // it finds out by itself
  const auto worker = Start("worker", 0, {.tls_dir = certs_});
  // Under the address of the ps answers a server that has a worker's certificate, and no cluster,
  // so that nobody asks for its own name.
  const std::string address = cluster_.address("ps", 0);
  const Server thief({.port = std::stoi(address.substr(address.rfind(':') + 1)),
                      .security = FilesOf("worker-1", certs_)});
  ExpectRefused(RefusalOf(worker->target(), {.tls_dir = certs_}, "/job:ps/task:0"),
                Code::kUnavailable, "not of the task, or host");
}

TEST_F(SecurityTest, APlainServerSpeaksNoTls) {
  const auto ps = Start("ps", 0, {}), worker = Start("worker", 0, {});
  ExpectRefused(RefusalOf(worker->target(), {.tls_dir = certs_}), Code::kUnavailable,
                "speaks no TLS");
  const auto stranger = Start("worker", 1, {.tls_dir = certs_});
  ExpectRefused(RefusalOf(stranger->target(), {.tls_dir = certs_}, "/job:ps/task:0"),
                Code::kUnavailable, "speaks no TLS");
  Train(worker->target(), {});
}

TEST_F(SecurityTest, PlainClientsOfThisMachineAreLetInWhenAllowed) {
  for (const Security& security : {Security{.token = kToken}, Security{.tls_dir = certs_},
                                   Security{.token = kToken, .tls_dir = certs_}}) {
    const auto ps = Start("ps", 0, security);
    const auto worker = Start("worker", 0, security, true);
    Train(worker->target(), {});
    Train(worker->target(), security);
    if (!security.token.empty())
      ExpectRefused(RefusalOf(worker->target(), {.token = kOther, .tls_dir = security.tls_dir}),
                    Code::kUnauthenticated, "wrong token");
    // Tasks are not.
    const auto stranger = Start("worker", 1, {});
    EXPECT_NE(RefusalOf(stranger->target(), {}, "/job:worker/task:0").code(), Code::kOk);
  }
}

TEST_F(SecurityTest, AddressesOfIpv6AreInCertificatesToo) {
  const std::string certs = folder_.path() + "/v6";
  ASSERT_TRUE(MakeCertificateFolder({.folder = certs, .cluster = {{"local", {"[::1]:1"}}}}).ok());
  for (const char* bind : {"::1", "[::1]"}) {
    std::unique_ptr<Server> server;
    try {
      server = std::make_unique<Server>(
          ServerOptions{.bind = bind, .security = {.tls_dir = certs}, .allow_plain_clients = true});
    } catch (const Error& error) {
      GTEST_SKIP() << "this machine has no IPv6: " << error.what();
    }
    for (const Security& security : {Security{.tls_dir = certs}, Security{}})
      EXPECT_EQ(RefusalOf(server->target(), security).code(), Code::kOk)
          << RefusalOf(server->target(), security).what();
  }
}

TEST_F(SecurityTest, OtherMachinesAreNotLetInUnasked) {
  const auto start = [&](const Security& security, bool insecure) {
    try {
      const Server server({.bind = "0.0.0.0", .security = security, .insecure = insecure});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(start({}, false).find("--token_file"), std::string::npos) << start({}, false);
  EXPECT_EQ(start({}, true), "");
  EXPECT_EQ(start({.token = kToken}, false), "");
  EXPECT_EQ(start(FilesOf("ps-0", certs_), false), "");
  // What only looks like an address of this machine.
  try {
    const Server server({.bind = "127.example.invalid"});
    ADD_FAILURE() << "it was listened on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition) << error.what();
  }
}

}  // namespace
}  // namespace carillon
