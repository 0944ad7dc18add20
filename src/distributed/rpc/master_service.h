// The MasterService of a server: TensorFlow's clients talk to it.
#pragma once

#include <memory>

#include "base/background.h"
#include "distributed/cluster/master.h"
#include "distributed/rpc/admission.h"
#include "distributed/serving/rpc_server.h"

namespace carillon {

// The thread that reads calls also runs the steps that are over sooner than another thread could
// take them up: a call of such a step needs no other thread at all. All else runs on background
// threads; a step that waits holds none.
class MasterService {
 public:
  // All must outlive the service.
  MasterService(Master* master, Admission* admission, BackgroundThreads* threads);
  ~MasterService();  // waits for calls
  MasterService(const MasterService&) = delete;
  MasterService& operator=(const MasterService&) = delete;

  // Before the server starts, which must be stopped before this goes.
  void AddTo(RpcServer* server);
  // Waits for the calls that are under way, once the server has stopped.
  void WaitForCalls();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace carillon
