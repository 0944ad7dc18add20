#include "distributed/rpc/grpc_setup.h"

#include <cstdlib>
#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <string_view>

#include "absl/synchronization/mutex.h"
#include "base/log_throttle.h"
#include "base/logging.h"

namespace carillon {

namespace {

// gRPC tells nobody else when a certificate is refused.
void TakeLogLine(gpr_log_func_args* line) {
  static LogThrottle handshakes;
  if (std::string_view(line->message).find("andshake failed") != std::string_view::npos) {
    handshakes.Warn("a connection with TLS was refused, by this side or the other: ",
                    line->message);
  } else {
    LogDebug("gRPC: ", line->message);
  }
}

bool WarnOfProxy() {
  const std::string name = ProxyVariable();
  if (!name.empty()) LogWarning(name, " is set, and not used: servers are connected to directly");
  return true;
}

}  // namespace

std::string ProxyVariable() {
  for (const char* name :
       {"grpc_proxy", "http_proxy", "https_proxy", "GRPC_PROXY", "HTTP_PROXY", "HTTPS_PROXY"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return name;
  }
  return "";
}

void SetUpGrpc() {
  [[maybe_unused]] static const bool warned = WarnOfProxy();
  // For good: with its last object gRPC would end its threads, and wait for one of them up to ten
  // seconds when something large has been sent a moment ago.
  [[maybe_unused]] static const bool stays = (grpc_init(), true);
  gpr_set_log_function(TakeLogLine);
  // Where abseil was built with its checks, each lock of gRPC's looks for cycles of locks.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace carillon
