// Who may call, and how callers show who they are.
#pragma once

#include <grpcpp/grpcpp.h>
#include <memory>
#include <string>

#include "base/log_throttle.h"
#include "base/status.h"
#include "distributed/cluster/credentials.h"
#include "distributed/serving/served_call.h"

namespace carillon {

std::shared_ptr<grpc::ChannelCredentials> ToChannelCredentials(const Credentials& credentials);

// Adds the token, if there is one, to a call.
void Sign(const Credentials& credentials, grpc::ClientContext* call);

// Whether the other end, or what is known of it, does not let a caller in (or the caller it):
// waiting will not help.
bool IsRefusal(const Status& status);
// The status of a call, with what to do about it where gRPC only says what failed.
Status WithAdvice(const Status& status);

// Decides on each call to a server. What it refuses it logs, with the caller's address.
// Thread-safe.
class Admission {
 public:
  // With `plain_clients`, callers of this machine need no credentials to run steps.
  Admission(std::shared_ptr<const Credentials> credentials, bool plain_clients)
      : credentials_(std::move(credentials)), plain_clients_(plain_clients) {}

  // A call of `task`, if it is one: UNAUTHENTICATED without the token, PERMISSION_DENIED with the
  // certificate of somebody else.
  Status AdmitTask(const CallInfo& call, const std::string& task);
  // A call to the master.
  Status AdmitClient(const CallInfo& call);

 private:
  Status CheckToken(const CallInfo& call) const;
  Status CheckTls(const CallInfo& call) const;
  Status CheckIdentity(const CallInfo& call, const std::string& task) const;
  Status Answer(const Status& status, const CallInfo& call);

  const std::shared_ptr<const Credentials> credentials_;
  const bool plain_clients_;
  LogThrottle log_;
};

}  // namespace carillon
