#include "distributed/rpc/grpc_setup.h"

#include <grpc/support/log.h>

#include "absl/synchronization/mutex.h"
#include "base/logging.h"

namespace carillon {

void SetUpGrpc() {
  gpr_set_log_function([](gpr_log_func_args* line) { LogDebug("gRPC: ", line->message); });
  // Where abseil was built with its checks, each lock of gRPC's looks for cycles of locks.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace carillon
