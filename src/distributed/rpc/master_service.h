// The MasterService of a server: TensorFlow's clients talk to it.
#pragma once

#include <grpcpp/impl/codegen/service_type.h>
#include <memory>

#include "base/background.h"
#include "distributed/cluster/master.h"

namespace carillon {

// Both must outlive the service. No thread is held by a step that waits.
std::unique_ptr<grpc::Service> MakeMasterService(Master* master, BackgroundThreads* threads);

}  // namespace carillon
