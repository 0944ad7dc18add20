// GrpcServer: what a task serves at its address: the sessions of clients, and the other tasks.
#pragma once

#include <memory>
#include <string>

#include "distributed/cluster/master.h"
#include "distributed/rpc/task_network.h"
#include "distributed/serving/rpc_server.h"

namespace carillon {

class GrpcServer {
 public:
  // `master` and `network`, if there is one, must outlive the server. Throws as RpcServer.
  GrpcServer(Master* master, TaskNetwork* network, const RpcServerOptions& options);
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
