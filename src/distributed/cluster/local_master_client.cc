#include "distributed/cluster/local_master_client.h"

#include <condition_variable>
#include <mutex>

namespace carillon {
namespace {

class LocalMasterClient final : public MasterClient {
 public:
  explicit LocalMasterClient(Master* master) : master_(*master) {}

  Status Connect(std::chrono::milliseconds) override { return absl::OkStatus(); }
  Status CreateSession(const tensorflow::CreateSessionRequest& request,
                       tensorflow::CreateSessionResponse* response) override {
    return master_.CreateSession(request, response);
  }
  Status ExtendSession(const tensorflow::ExtendSessionRequest& request,
                       tensorflow::ExtendSessionResponse* response) override {
    return master_.ExtendSession(request, response);
  }
  Status PartialRunSetup(const tensorflow::PartialRunSetupRequest& request,
                         tensorflow::PartialRunSetupResponse* response) override {
    return master_.PartialRunSetup(request, response);
  }
  void CloseSession(const tensorflow::CloseSessionRequest& request,
                    std::chrono::milliseconds) override {
    // A server that was stopped has closed the session.
    master_.CloseSession(request).IgnoreError();
  }

  Status RunStep(StepRequest request, StepReply* reply) override {
    auto call = std::make_shared<StepCall>();
    call->request = std::move(request);
    std::mutex mutex;
    std::condition_variable answered;
    bool done = false;
    call->done = [&](StepReply result) {
      std::lock_guard lock(mutex);
      *reply = std::move(result);
      done = true;
      answered.notify_one();
    };
    master_.RunStep(std::move(call));
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return done; });
    return absl::OkStatus();
  }

 private:
  Master& master_;
};

}  // namespace

std::unique_ptr<MasterClient> MakeLocalMasterClient(Master* master) {
  return std::make_unique<LocalMasterClient>(master);
}

}  // namespace carillon
