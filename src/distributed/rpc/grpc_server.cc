#include "distributed/rpc/grpc_server.h"

#include <chrono>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/rpc/admission.h"
#include "distributed/rpc/doorman.h"
#include "distributed/rpc/grpc_setup.h"
#include "distributed/rpc/listener.h"
#include "distributed/rpc/master_service.h"
#include "distributed/rpc/own_addresses.h"
#include "distributed/rpc/plain_refusal.h"

namespace carillon {
namespace {

using grpc::experimental::ExternalConnectionAcceptor;

// How long calls that are being answered may take when the server stops.
constexpr std::chrono::seconds kGrace{2};
// What connections take besides messages, with room for many.
constexpr int64_t kConnectionBytes = 64 << 20;

void Accept(ExternalConnectionAcceptor* acceptor, int listener, int connection) {
  ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.listener_fd = listener;
  parameters.fd = connection;
  acceptor->HandleNewConnection(&parameters);
}

// Says something that is no TLS, and closes: the other end knows then that none is spoken here.
void AnswerPlainly(int connection) {
  char heard[4096];
  while (recv(connection, heard, sizeof(heard), MSG_DONTWAIT) > 0) {
  }
  constexpr char kNothing[8] = {};
  static_cast<void>(!send(connection, kNothing, sizeof(kNothing), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(connection, SHUT_WR);
  close(connection);
}

}  // namespace

struct GrpcServer::State {
  State(Master* master, const GrpcServerOptions& options)
      : admission(options.credentials, options.plain_clients),
        calls(master, &admission, &threads) {}

  Admission admission;
  BackgroundThreads threads;
  MasterServer calls;
  std::unique_ptr<grpc::Server> server;
  // Hands a connection to whoever speaks its language.
  void Welcome(int listener, int connection, bool is_tls) {
    if (is_tls && tls != nullptr) return Accept(tls.get(), listener, connection);
    if (is_tls) {
      log.Warn("refused ", PeerOf(connection),
               ": it speaks TLS, and this server has no certificates");
      return AnswerPlainly(connection);
    }
    if (plain != nullptr && (tls == nullptr || own_addresses.IsPeerOf(connection)))
      return Accept(plain.get(), listener, connection);
    log.Warn("refused ", PeerOf(connection), ": ", PlainRefusal::reason());
    plain_refusal->Take(listener, connection);
  }

  // Null: such connections are not taken, or only from this machine.
  std::unique_ptr<ExternalConnectionAcceptor> plain, tls;
  std::unique_ptr<PlainRefusal> plain_refusal;  // null: plain connections are taken
  const OwnAddresses own_addresses;
  LogThrottle log;
  std::unique_ptr<Doorman> doorman;
  std::unique_ptr<Listener> listener;
  std::string address;
};

GrpcServer::GrpcServer(Master* master, TaskNetwork* network, const GrpcServerOptions& options)
    : state_(std::make_unique<State>(master, options)) {
  SetUpGrpc();
  const bool has_tls = options.credentials->has_tls();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(INT32_MAX);
  builder.SetMaxSendMessageSize(INT32_MAX);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.handshake_timeout.count()));
  if (options.memory_limit_bytes > 0) {
    grpc::ResourceQuota quota;
    quota.Resize(static_cast<size_t>(options.memory_limit_bytes + kConnectionBytes));
    builder.SetResourceQuota(quota);
  }
  state_->listener = ValueOrThrow(Listener::Open(options.bind, options.port));
  const auto accept = [&](std::shared_ptr<grpc::ServerCredentials> credentials) {
    return builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        std::move(credentials));
  };
  if (has_tls) {
    state_->tls = accept(ToServerCredentials(*options.credentials));
    state_->plain_refusal = std::make_unique<PlainRefusal>();
  }
  if (!has_tls || options.plain_clients) state_->plain = accept(grpc::InsecureServerCredentials());
  state_->calls.AddTo(&builder);
  if (network != nullptr) network->AddTo(&builder);
  state_->server = builder.BuildAndStart();
  if (state_->server == nullptr) Throw(Internal("the gRPC server does not start"));
  state_->calls.Start();
  state_->address = StrCat(options.bind, ":", state_->listener->port());
  state_->doorman = std::make_unique<Doorman>(options.handshake_timeout,
                                              [this](int listener, int connection, bool is_tls) {
                                                state_->Welcome(listener, connection, is_tls);
                                              });
  state_->listener->Start(
      [this](int listener, int connection) { state_->doorman->Add(listener, connection); });
}

GrpcServer::~GrpcServer() { Stop(); }

void GrpcServer::Stop() {
  state_->listener->Stop();
  state_->doorman->Stop();
  if (state_->plain_refusal != nullptr) state_->plain_refusal->Stop();
  state_->server->Shutdown(std::chrono::system_clock::now() + kGrace);
  state_->server->Wait();
  state_->calls.Stop();
}

int GrpcServer::port() const { return state_->listener->port(); }
const std::string& GrpcServer::address() const { return state_->address; }

}  // namespace carillon
