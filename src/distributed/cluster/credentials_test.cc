#include "distributed/cluster/credentials.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "distributed/cluster/certificate_folder.h"
#include "temporary_folder.h"

namespace carillon {
namespace {

class CredentialsTest : public testing::Test {
 protected:
  ~CredentialsTest() override {
    for (const char* variable : {"CARILLON_TOKEN_FILE", "CARILLON_TLS_DIR"}) unsetenv(variable);
  }

  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string MakeFolder(const std::string& name, int days = 10) const {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(
        MakeCertificateFolder(
            {.folder = path, .cluster = {{"ps", {"h:1"}}, {"worker", {"h:2"}}}, .days = days})
            .ok());
    return path;
  }
  static void ExpectRefused(const Security& security, const std::string& part,
                            const CredentialsOwner& owner = {.name = "ps-0"}) {
    const StatusOr<Credentials> loaded = LoadCredentials(security, owner);
    ASSERT_FALSE(loaded.ok()) << part;
    EXPECT_NE(std::string(loaded.status().message()).find(part), std::string::npos)
        << loaded.status();
  }

  const TestFolder folder_;
};

const std::string kToken = "0123456789abcdef";

TEST_F(CredentialsTest, WithoutAnythingThereAreNone) {
  EXPECT_TRUE(LoadCredentials({}, {.name = "ps-0"}).value().empty());
}

TEST_F(CredentialsTest, TokensAreReadFromFiles) {
  EXPECT_EQ(LoadCredentials({.token = kToken}, {}).value().token, kToken);
  const std::string path = Write("token", "\n " + kToken + "\r\n");
  EXPECT_EQ(LoadCredentials({.token_file = path}, {}).value().token, kToken);
  setenv("CARILLON_TOKEN_FILE", path.c_str(), 1);
  EXPECT_EQ(LoadCredentials({}, {}).value().token, kToken);
  EXPECT_EQ(LoadCredentials({.token = "another-" + kToken}, {}).value().token, "another-" + kToken);
}

TEST_F(CredentialsTest, BadTokensAreExplained) {
  ExpectRefused({.token_file = folder_.path() + "/none"}, "/none");
  ExpectRefused({.token_file = folder_.path()}, folder_.path());
  ExpectRefused({.token_file = Write("empty", "")}, "a token has 16 to");
  ExpectRefused({.token_file = Write("short", "123")}, "a token has 16 to");
  ExpectRefused({.token_file = Write("spaces", kToken + " " + kToken)}, "no spaces");
  ExpectRefused({.token_file = Write("bytes", kToken + "\xff")}, "ASCII");
  ExpectRefused({.token_file = Write("open", kToken, 0644)}, "chmod 600");
  ExpectRefused({.token = "short"}, "a token has 16 to");
}

TEST_F(CredentialsTest, AFolderHasTheFilesOfAll) {
  const std::string certs = MakeFolder("certs");
  const Credentials ps = LoadCredentials({.tls_dir = certs}, {.name = "ps-0"}).value();
  const Credentials client = LoadCredentials({.tls_dir = certs}, {.name = kClientOwner}).value();
  EXPECT_TRUE(ps.has_tls());
  EXPECT_EQ(ps.authority, client.authority);
  EXPECT_NE(ps.own.certificate, client.own.certificate);
  setenv("CARILLON_TLS_DIR", certs.c_str(), 1);
  EXPECT_EQ(LoadCredentials({}, {.name = "ps-0"}).value().own.key, ps.own.key);
  EXPECT_EQ(LoadCredentials({.tls_ca = certs + "/ca.pem",
                             .tls_cert = certs + "/ps-0.pem",
                             .tls_key = certs + "/ps-0.key"},
                            {.name = "ps-0"})
                .value()
                .own.key,
            ps.own.key);
}

TEST_F(CredentialsTest, BadCertificatesAreExplained) {
  const std::string certs = MakeFolder("certs"), other = MakeFolder("other");
  ExpectRefused({.tls_dir = folder_.path() + "/none"}, "/none/ca.pem");
  ExpectRefused({.tls_dir = certs}, "worker-7.pem", {.name = "worker-7"});
  ExpectRefused({.tls_ca = certs + "/ca.pem"}, "an own certificate too");
  ExpectRefused({.tls_dir = certs, .tls_ca = other + "/ca.pem"}, "has not signed");
  ExpectRefused({.tls_dir = certs, .tls_key = certs + "/worker-0.key"}, "the key is not the one");
  ExpectRefused({.tls_dir = certs, .tls_cert = Write("no.pem", "nothing")}, "no certificate");
  ExpectRefused({.tls_dir = MakeFolder("past", -1)}, "expired");
  const Security of_worker{
      .tls_dir = certs, .tls_cert = certs + "/worker-0.pem", .tls_key = certs + "/worker-0.key"};
  ExpectRefused(of_worker, "is of worker-0.carillon, not of ps-0.carillon");
  EXPECT_TRUE(LoadCredentials(of_worker, {.name = "ps-0", .must_be_named = false}).ok());
  chmod((certs + "/ps-0.key").c_str(), 0604);
  ExpectRefused({.tls_dir = certs}, "chmod 600");
}

TEST_F(CredentialsTest, TasksHaveIdentities) {
  EXPECT_EQ(IdentityOfTask("/job:worker/replica:0/task:12"), "worker-12.carillon");
  EXPECT_EQ(IdentityOfTask(""), "");
  EXPECT_EQ(IdentityOfTask("/job:x"), "");
  EXPECT_EQ(IdentityOfTask("/task:0"), "");
}

}  // namespace
}  // namespace carillon
