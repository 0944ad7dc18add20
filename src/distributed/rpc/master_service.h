// The MasterService of a server: TensorFlow's clients talk to it.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_builder.h>
#include <memory>

#include "base/background.h"
#include "distributed/cluster/master.h"
#include "distributed/rpc/admission.h"

namespace carillon {

// Takes calls on one thread, which also runs the steps that are over sooner than another thread
// could take them up: a call of such a step needs no other thread at all. All else runs on
// background threads; a step that waits holds none.
class MasterServer {
 public:
  // All must outlive the server.
  MasterServer(Master* master, Admission* admission, BackgroundThreads* threads);
  ~MasterServer();  // stopped, if it was started
  MasterServer(const MasterServer&) = delete;
  MasterServer& operator=(const MasterServer&) = delete;

  void AddTo(grpc::ServerBuilder* builder);
  // Begins to take calls, once the gRPC server runs.
  void Start();
  // Waits for the calls that are under way, once the gRPC server has been shut down.
  void Stop();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace carillon
