// The gRPC end of a server.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "distributed/cluster/credentials.h"
#include "distributed/cluster/master.h"
#include "distributed/rpc/task_network.h"

namespace carillon {

struct GrpcServerOptions {
  std::string bind = "127.0.0.1";
  int port = 0;  // 0: any free one
  // How long a connection may say nothing before it is closed.
  std::chrono::milliseconds handshake_timeout{20'000};
  // What callers have to show; with plain_clients not those of this machine who run steps.
  std::shared_ptr<const Credentials> credentials = std::make_shared<Credentials>();
  bool plain_clients = false;
  // What tensors may take, and again what gRPC may hold of messages that have not come whole: who
  // sends more is broken off. 0: no limit.
  int64_t memory_limit_bytes = 0;
};

class GrpcServer {
 public:
  // `master` and `network`, if there is one, must outlive the server. Throws Error(Unavailable)
  // when the address cannot be had.
  GrpcServer(Master* master, TaskNetwork* network, const GrpcServerOptions& options);
  ~GrpcServer();

  int port() const;
  const std::string& address() const;  // "host:port"

  // Ends what is running and lets go of the port. May be called again.
  void Stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carillon
