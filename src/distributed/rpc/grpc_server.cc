#include "distributed/rpc/grpc_server.h"

#include "base/background.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/master_service.h"

namespace carillon {
namespace {

// How long calls that are being answered may take when the server stops.
constexpr std::chrono::seconds kGrace{2};

}  // namespace

struct GrpcServer::State {
  State(Master* master, const RpcServerOptions& options)
      : admission(options.credentials, options.plain_clients),
        service(master, &admission, &threads),
        server(options) {}

  Admission admission;
  BackgroundPool threads;
  MasterService service;
  RpcServer server;
};

GrpcServer::GrpcServer(Master* master, TaskNetwork* network, const RpcServerOptions& options)
    : state_(std::make_unique<State>(master, options)) {
  state_->service.AddTo(&state_->server);
  if (network != nullptr) network->AddTo(&state_->server);
  state_->server.Start();
}

GrpcServer::~GrpcServer() { Stop(); }

void GrpcServer::Stop() {
  state_->server.Stop(kGrace);
  state_->service.WaitForCalls();
}

int GrpcServer::port() const { return state_->server.port(); }
const std::string& GrpcServer::address() const { return state_->server.address(); }

}  // namespace carillon
