// Callers that hold wrong, stolen or no credentials, and do not check themselves first.
#include "distributed/rpc/admission.h"

#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>

#include "base/env.h"
#include "captured_log.h"
#include "distributed/cluster/certificate_folder.h"
#include "distributed/cluster/master.h"
#include "distributed/rpc/grpc_server.h"
#include "distributed/rpc/task_network.h"
#include "free_port.h"
#include "temporary_folder.h"

namespace carillon {
namespace {

std::string NameOf(const std::string& job) { return StrCat("/job:", job, "/replica:0/task:0"); }

// One end of a network: waits until the other one has let it in, or not.
class End final : public TaskListener {
 public:
  Status WaitForAnswer() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return answered_; });
    return answer_;
  }

 private:
  void OnMessage(const std::string&, TaskMessage) override {}
  void OnDone(const std::string&) override {}
  StatusOr<std::string> OnQuestion(const std::string&, TaskQuestion, const std::string&) override {
    return std::string();
  }
  void OnHere(const std::string&) override { Answer(absl::OkStatus()); }
  void OnLost(const std::string&, const Status& reason) override { Answer(reason); }
  void Answer(const Status& status) {
    std::lock_guard lock(mutex_);
    if (!answered_) answer_ = status;
    answered_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool answered_ = false;
  Status answer_;
};

// A ps that serves, and whoever calls it.
class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    const ClusterSpec cluster{{"ps", {"h:1"}}, {"worker", {"h:2", "h:3"}}};
    for (const char* certs : {"certs", "others"})
      EXPECT_TRUE(
          MakeCertificateFolder({.folder = folder_.path() + "/" + certs, .cluster = cluster}).ok());
  }

  Credentials Of(const std::string& owner, const std::string& certs = "certs") const {
    return LoadCredentials({.tls_dir = folder_.path() + "/" + certs}, {.name = owner}).value();
  }

  // What the ps answers to a caller that says that it is worker 0.
  Status CallAs(const Credentials& caller, const Credentials& ps) {
    const std::map<std::string, std::string> addresses{
        {NameOf("ps"), StrCat("127.0.0.1:", FreePort())},
        {NameOf("worker"), StrCat("127.0.0.1:", FreePort())}};
    const auto options = [&](const std::string& job, const Credentials& credentials) {
      return TaskNetworkOptions{
          .task = NameOf(job),
          .addresses = addresses,
          .allocator = std::shared_ptr<Allocator>(HostAllocator(), [](Allocator*) {}),
          .credentials = std::make_shared<Credentials>(credentials),
          .connect_deadline = std::chrono::milliseconds(500)};
    };
    End server_end, client_end;
    TaskNetwork serving(options("ps", ps), &server_end);
    MapResourceStore resources;
    Master master({}, MakeCpuDevice(NameOf("ps"), {}), &resources);
    const std::string& address = addresses.at(NameOf("ps"));
    GrpcServer server(&master, &serving,
                      {.port = std::stoi(address.substr(address.rfind(':') + 1)),
                       .credentials = std::make_shared<Credentials>(ps)});
    TaskNetwork calling(options("worker", caller), &client_end);
    EXPECT_TRUE(calling.Send(NameOf("ps"), EndSession{"session"}).ok());
    const Status answer = client_end.WaitForAnswer();
    calling.Stop();
    serving.Stop();
    return answer;
  }
  // The same; with what was logged meanwhile.
  void ExpectRefused(const Credentials& caller, const Credentials& ps, absl::StatusCode code,
                     const std::string& reason, const std::string& logged) {
    CapturedLog captured;
    const Status answer = CallAs(caller, ps);
    const std::string log = captured.End();
    EXPECT_EQ(answer.code(), code) << answer;
    EXPECT_NE(std::string(answer.message()).find(reason), std::string::npos) << answer;
    EXPECT_NE(log.find(logged), std::string::npos) << log;
  }

  const TestFolder folder_;
};

TEST_F(AdmissionTest, TheRightOneIsLetIn) {
  EXPECT_TRUE(CallAs(Of("worker-0"), Of("ps-0")).ok());
  EXPECT_TRUE(CallAs({.token = "a token"}, {.token = "a token"}).ok());
}

TEST_F(AdmissionTest, ACertificateIsGoodForItsOwnTaskAlone) {
  for (const char* owner : {"worker-1", "ps-0", "client"}) {
    const std::string reason = StrCat("its certificate is of ", owner, ".carillon");
    ExpectRefused(Of(owner), Of("ps-0"), absl::StatusCode::kPermissionDenied, reason, reason);
  }
  // Nor does the caller take another one's answer.
  const Status answer = CallAs(Of("worker-0"), Of("worker-1"));
  EXPECT_NE(std::string(answer.message()).find("is not of the task"), std::string::npos) << answer;
}

TEST_F(AdmissionTest, TheCertificateOfAClientDoesNotServe) {
  const Status answer = CallAs(Of("worker-0"), Of("client"));
  EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable) << answer;
}

TEST_F(AdmissionTest, ACallerOfAnotherAuthorityIsRefusedByTheServer) {
  Credentials caller = Of("worker-0", "others");
  caller.authority = Of("ps-0").authority;  // so that it goes on
  EXPECT_EQ(CallAs(caller, Of("ps-0")).code(), absl::StatusCode::kUnavailable);
  caller.own = {};
  EXPECT_EQ(CallAs(caller, Of("ps-0")).code(), absl::StatusCode::kUnavailable);
}

TEST_F(AdmissionTest, TokensAreCheckedAndNeverLogged) {
  const Credentials ps{.token = "the token of the job"};
  constexpr auto kCode = absl::StatusCode::kUnauthenticated;
  ExpectRefused({}, ps, kCode, "carries no token", "refused 127.0.0.1");
  ExpectRefused({.token = "a guess"}, ps, kCode, "carries a wrong token", "refused 127.0.0.1");
  CapturedLog captured;
  CallAs({.token = "a guess"}, ps).IgnoreError();
  const std::string log = captured.End();
  EXPECT_EQ(log.find("a guess"), std::string::npos);
  EXPECT_EQ(log.find(ps.token), std::string::npos);
}

}  // namespace
}  // namespace carillon
