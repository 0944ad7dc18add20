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
#include "distributed/cluster/credentials.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/conversions.h"
#include "distributed/rpc/grpc_setup.h"
#include "proto/master.grpc.pb.h"

namespace carillon {
namespace {

constexpr std::string_view kScheme = "grpc://";
constexpr const char* kRunStep = "/tensorflow.MasterService/RunStep";

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address,
                                         const Credentials& credentials) {
  SetUpGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, ToChannelCredentials(credentials), arguments);
}

class GrpcMasterClient final : public MasterClient {
 public:
  GrpcMasterClient(std::string address, Credentials credentials)
      : address_(std::move(address)),
        credentials_(std::move(credentials)),
        channel_(ChannelTo(address_, credentials_)),
        master_(tensorflow::MasterService::NewStub(channel_)),
        raw_(channel_) {}

  Status Connect(std::chrono::milliseconds timeout) override {
    const auto deadline = std::chrono::system_clock::now() + timeout;
    Status last;
    for (;;) {
      const grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
      if (state == GRPC_CHANNEL_READY) return absl::OkStatus();
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
        last = WhyNotConnected(deadline);
        if (IsRefusal(last)) return last;
      }
      if (!channel_->WaitForStateChange(state, deadline)) break;
    }
    return absl::UnavailableError(StrCat("no server answers at ", address_, "; waited for ",
                                         std::chrono::duration<double>(timeout).count(),
                                         " s. Is it running, and is the address right?",
                                         last.ok() ? "" : " ", std::string(last.message())));
  }
  Status CreateSession(const tensorflow::CreateSessionRequest& request,
                       tensorflow::CreateSessionResponse* response) override {
    grpc::ClientContext context;
    Sign(credentials_, &context);
    return Named(master_->CreateSession(&context, request, response));
  }
  Status ExtendSession(const tensorflow::ExtendSessionRequest& request,
                       tensorflow::ExtendSessionResponse* response) override {
    grpc::ClientContext context;
    Sign(credentials_, &context);
    return Named(master_->ExtendSession(&context, request, response));
  }
  Status PartialRunSetup(const tensorflow::PartialRunSetupRequest& request,
                         tensorflow::PartialRunSetupResponse* response) override {
    grpc::ClientContext context;
    Sign(credentials_, &context);
    return Named(master_->PartialRunSetup(&context, request, response));
  }
  void CloseSession(const tensorflow::CloseSessionRequest& request,
                    std::chrono::milliseconds timeout) override {
    grpc::ClientContext context;
    Sign(credentials_, &context);
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    tensorflow::CloseSessionResponse response;
    // A server that is gone has closed the session too.
    static_cast<void>(master_->CloseSession(&context, request, &response));
  }

  Status RunStep(StepRequest request, StepReply* reply) override {
    request.store_errors_in_response_body = true;
    grpc::ClientContext context;
    Sign(credentials_, &context);
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
    if (status.ok()) return absl::OkStatus();
    if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED)
      return absl::UnauthenticatedError(
          StrCat("the server at ", address_, " refuses: ", status.error_message()));
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return FromGrpcStatus(status);
    return WithAdvice(absl::UnavailableError(
        StrCat("the server at ", address_, " cannot be reached: ", status.error_message())));
  }

  // A channel does not say why it fails, but a call does, at once.
  Status WhyNotConnected(std::chrono::system_clock::time_point deadline) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    tensorflow::ListDevicesResponse response;
    return Named(master_->ListDevices(&context, {}, &response));
  }

  const std::string address_;
  const Credentials credentials_;
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
  Credentials credentials = ValueOrThrow(
      LoadCredentials(options.security, {.name = kClientOwner, .must_be_named = false}));
  state_->backend = MakeClientSession(
      std::make_unique<GrpcMasterClient>(target.substr(kScheme.size()), std::move(credentials)),
      graph.nodes(), options);
}

}  // namespace carillon
