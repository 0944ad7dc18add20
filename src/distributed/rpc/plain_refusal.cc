#include "distributed/rpc/plain_refusal.h"

#include <chrono>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include "base/throw.h"

namespace carillon {
namespace {

class Service final : public grpc::CallbackGenericService {
 private:
  struct Answer final : grpc::ServerGenericBidiReactor {
    void OnDone() override { delete this; }
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    auto* answer = new Answer;
    answer->Finish({grpc::StatusCode::UNAUTHENTICATED, PlainRefusal::reason()});
    return answer;
  }
};

}  // namespace

struct PlainRefusal::State {
  Service service;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
};

const std::string& PlainRefusal::reason() {
  static const std::string reason =
      "the connection is plain, and this server takes only TLS: give the client certificates "
      "(CARILLON_TLS_DIR) or, for TensorFlow's client on the same machine, the server "
      "--allow_plain_clients";
  return reason;
}

PlainRefusal::PlainRefusal() : state_(std::make_unique<State>()) {
  grpc::ServerBuilder builder;
  state_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&state_->service);
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr) Throw(Internal("the gRPC server does not start"));
}

PlainRefusal::~PlainRefusal() { Stop(); }

void PlainRefusal::Take(int listener, int connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener;
  parameters.fd = connection;
  state_->acceptor->HandleNewConnection(&parameters);
}

void PlainRefusal::Stop() {
  state_->server->Shutdown(std::chrono::system_clock::now());
  state_->server->Wait();
}

}  // namespace carillon
