// Sessions on a server that is reached over the network.
#include <condition_variable>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <mutex>
#include <string>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/cluster/client_session.h"
#include "distributed/rpc/conversions.h"
#include "distributed/rpc/grpc_setup.h"
#include "proto/master.grpc.pb.h"

namespace carillon {
namespace {

constexpr std::string_view kScheme = "grpc://";
constexpr const char* kRunStep = "/tensorflow.MasterService/RunStep";

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  SetUpGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

class GrpcMasterClient final : public MasterClient {
 public:
  explicit GrpcMasterClient(std::string address)
      : address_(std::move(address)),
        channel_(ChannelTo(address_)),
        master_(tensorflow::MasterService::NewStub(channel_)),
        raw_(channel_) {}

  Status Connect(std::chrono::milliseconds timeout) override {
    if (channel_->WaitForConnected(std::chrono::system_clock::now() + timeout))
      return absl::OkStatus();
    return absl::UnavailableError(StrCat("no server answers at ", address_, "; waited for ",
                                         std::chrono::duration<double>(timeout).count(),
                                         " s. Is it running, and is the address right?"));
  }
  Status CreateSession(const tensorflow::CreateSessionRequest& request,
                       tensorflow::CreateSessionResponse* response) override {
    grpc::ClientContext context;
    return Named(master_->CreateSession(&context, request, response));
  }
  Status ExtendSession(const tensorflow::ExtendSessionRequest& request,
                       tensorflow::ExtendSessionResponse* response) override {
    grpc::ClientContext context;
    return Named(master_->ExtendSession(&context, request, response));
  }
  Status PartialRunSetup(const tensorflow::PartialRunSetupRequest& request,
                         tensorflow::PartialRunSetupResponse* response) override {
    grpc::ClientContext context;
    return Named(master_->PartialRunSetup(&context, request, response));
  }
  void CloseSession(const tensorflow::CloseSessionRequest& request,
                    std::chrono::milliseconds timeout) override {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    tensorflow::CloseSessionResponse response;
    // A server that is gone has closed the session too.
    static_cast<void>(master_->CloseSession(&context, request, &response));
  }

  Status RunStep(StepRequest request, StepReply* reply) override {
    request.store_errors_in_response_body = true;
    grpc::ClientContext context;
    if (request.options.timeout_in_ms() > 0) {
      // The server ends the step; who does not answer at all is given up a little later.
      constexpr std::chrono::seconds kGrace{5};
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::milliseconds(request.options.timeout_in_ms()) + kGrace);
    }
    const grpc::ByteBuffer sent = ToByteBuffer(WriteStepRequest(request));
    grpc::ByteBuffer received;
    std::mutex mutex;
    std::condition_variable answered;
    bool done = false;
    grpc::Status status;
    raw_.UnaryCall(&context, kRunStep, grpc::StubOptions(), &sent, &received,
                   [&](grpc::Status result) {
                     std::lock_guard lock(mutex);
                     status = std::move(result);
                     done = true;
                     answered.notify_one();
                   });
    {
      std::unique_lock lock(mutex);
      answered.wait(lock, [&] { return done; });
    }
    CARILLON_RETURN_IF_ERROR(Named(status));
    grpc::ProtoBufferReader stream(&received);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(static_cast<int>(received.Length()));
    return ReadStepReply(&in, reply);
  }

 private:
  // What gRPC says of a call, with the server's address where the transport failed.
  Status Named(const grpc::Status& status) const {
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return FromGrpcStatus(status);
    return absl::UnavailableError(
        StrCat("the server at ", address_, " cannot be reached: ", status.error_message()));
  }

  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<tensorflow::MasterService::Stub> master_;
  grpc::GenericStub raw_;
};

}  // namespace

Session::Session(const std::string& target, Graph& graph, const SessionOptions& options)
    : state_(new State{graph, nullptr}) {
  if (!target.starts_with(kScheme) || target.size() == kScheme.size()) {
    Throw(InvalidArgument("'", target, "' is no target of a session: it should look like ", kScheme,
                          "host:port"));
  }
  state_->backend = MakeClientSession(
      std::make_unique<GrpcMasterClient>(target.substr(kScheme.size())), graph.nodes(), options);
}

}  // namespace carillon
