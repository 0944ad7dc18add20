#include "distributed/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include "base/logging.h"

namespace carillon {

void RouteGrpcLog() {
  gpr_set_log_function([](gpr_log_func_args* line) { LogDebug("gRPC: ", line->message); });
}

}  // namespace carillon
