#include "distributed/rpc/grpc_server.h"

#include <chrono>
#include <grpcpp/grpcpp.h>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/rpc/grpc_setup.h"
#include "distributed/rpc/listener.h"
#include "distributed/rpc/master_service.h"

namespace carillon {
namespace {

// How long calls that are being answered may take when the server stops.
constexpr std::chrono::seconds kGrace{2};

}  // namespace

struct GrpcServer::State {
  explicit State(Master* master) : calls(master, &threads) {}

  BackgroundThreads threads;
  MasterServer calls;
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<Listener> listener;
  std::string address;
};

GrpcServer::GrpcServer(Master* master, TaskNetwork* network, const GrpcServerOptions& options)
    : state_(std::make_unique<State>(master)) {
  SetUpGrpc();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(INT32_MAX);
  builder.SetMaxSendMessageSize(INT32_MAX);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake_timeout.count()));
  state_->listener = ValueOrThrow(Listener::Open(options.bind, options.port));
  state_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  state_->calls.AddTo(&builder);
  if (network != nullptr) network->AddTo(&builder);
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr) Throw(Internal("the gRPC server does not start"));
  state_->calls.Start();
  state_->address = StrCat(options.bind, ":", state_->listener->port());
  state_->listener->Start([this](int listener, int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    state_->acceptor->HandleNewConnection(&parameters);
  });
}

GrpcServer::~GrpcServer() { Stop(); }

void GrpcServer::Stop() {
  state_->listener->Stop();
  state_->server->Shutdown(std::chrono::system_clock::now() + kGrace);
  state_->server->Wait();
  state_->calls.Stop();
}

int GrpcServer::port() const { return state_->listener->port(); }
const std::string& GrpcServer::address() const { return state_->address; }

}  // namespace carillon
