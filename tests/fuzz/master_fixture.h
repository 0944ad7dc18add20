// A master without sockets, for targets that play its clients.
#pragma once

#include <string>

#include "distributed/cluster/master.h"

namespace carillon {

class FuzzedMaster {
 public:
  FuzzedMaster();

  Master& master() { return master_; }

  // One step, with a deadline of a few milliseconds whatever the request says.
  Status Run(StepRequest request);
  Status Run(CallableRequest request);

 private:
  std::shared_ptr<Device> device_;
  MapResourceStore resources_;
  Master master_;
};

// True when running the graph could change files of this machine, or wait for it to.
bool TouchesFiles(const tensorflow::GraphDef& graph);

}  // namespace carillon
