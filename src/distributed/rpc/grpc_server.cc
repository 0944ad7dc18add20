#include "distributed/rpc/grpc_server.h"

#include <chrono>
#include <grpcpp/grpcpp.h>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/rpc/grpc_log.h"
#include "distributed/rpc/master_service.h"

namespace carillon {
namespace {

// How long calls that are being answered may take when the server stops.
constexpr std::chrono::seconds kGrace{2};

}  // namespace

struct GrpcServer::State {
  BackgroundThreads threads;
  std::unique_ptr<grpc::Service> service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  std::string address;
};

GrpcServer::GrpcServer(Master* master, const GrpcServerOptions& options)
    : state_(std::make_unique<State>()) {
  RouteGrpcLog();
  state_->service = MakeMasterService(master, &state_->threads);
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(INT32_MAX);
  builder.SetMaxSendMessageSize(INT32_MAX);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a taken port is an error, not shared
  const std::string wanted = StrCat(options.bind, ":", options.port);
  builder.AddListeningPort(wanted, grpc::InsecureServerCredentials(), &state_->port);
  builder.RegisterService(state_->service.get());
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr || state_->port == 0) {
    Throw(absl::UnavailableError(StrCat(
        "cannot listen on ", wanted, ": the port is taken or the address is not this machine's")));
  }
  state_->address = StrCat(options.bind, ":", state_->port);
}

GrpcServer::~GrpcServer() { Stop(); }

void GrpcServer::Stop() {
  state_->server->Shutdown(std::chrono::system_clock::now() + kGrace);
  state_->server->Wait();
}

int GrpcServer::port() const { return state_->port; }
const std::string& GrpcServer::address() const { return state_->address; }

}  // namespace carillon
