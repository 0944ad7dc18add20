// Sessions whose steps a master runs: what the public Session stands on when it is given a server.
#pragma once

#include <chrono>
#include <memory>

#include "carillon/session.h"
#include "distributed/cluster/step_messages.h"
#include "graph/node_graph.h"
#include "proto/master.pb.h"
#include "runtime/session_backend.h"

namespace carillon {

// How a session talks to its master: over the network, or with one in this process. Thread-safe.
class MasterClient {
 public:
  virtual ~MasterClient() = default;
  // Waits until the master can be reached.
  virtual Status Connect(std::chrono::milliseconds timeout) = 0;
  virtual Status CreateSession(const tensorflow::CreateSessionRequest& request,
                               tensorflow::CreateSessionResponse* response) = 0;
  virtual Status ExtendSession(const tensorflow::ExtendSessionRequest& request,
                               tensorflow::ExtendSessionResponse* response) = 0;
  virtual Status PartialRunSetup(const tensorflow::PartialRunSetupRequest& request,
                                 tensorflow::PartialRunSetupResponse* response) = 0;
  virtual void CloseSession(const tensorflow::CloseSessionRequest& request,
                            std::chrono::milliseconds timeout) = 0;
  // Waits for the step. The step's own error is in the reply.
  virtual Status RunStep(StepRequest request, StepReply* reply) = 0;
};

std::unique_ptr<SessionBackend> MakeClientSession(std::unique_ptr<MasterClient> master,
                                                  const NodeGraph& graph,
                                                  const SessionOptions& options);

}  // namespace carillon
