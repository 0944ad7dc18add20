// TaskNetwork: messages between the tasks of a cluster, over gRPC.
//
// A task connects to each task that it has something for, with the first message; names are
// resolved each time. A gRPC stream carries heartbeats, which are answered, so that a task that is
// frozen or cut off is noticed as well as one that is dead. Messages go by UCX where both tasks
// have it and it finds a way between them, otherwise by another stream of gRPC.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "carillon/server.h"
#include "distributed/cluster/credentials.h"
#include "distributed/cluster/task_messages.h"
#include "distributed/cluster/task_questions.h"
#include "distributed/serving/rpc_server.h"
#include "tensor/allocator.h"

namespace carillon {

struct TaskNetworkOptions {
  std::string task;                              // this one: "/job:ps/replica:0/task:0"
  std::map<std::string, std::string> addresses;  // host:port of every task
  std::shared_ptr<Allocator> allocator;          // where tensors that arrive go
  Transport transport = Transport::kAutomatic;   // with TLS kGrpc: UCX does not encrypt
  // What this task shows and asks of the others.
  std::shared_ptr<const Credentials> credentials = std::make_shared<Credentials>();
  // How long a task that was never there is waited for, and one that was.
  std::chrono::milliseconds connect_deadline{std::chrono::seconds(60)};
  std::chrono::milliseconds reconnect_deadline{std::chrono::seconds(3)};
  std::chrono::milliseconds heartbeat{500};
  std::chrono::milliseconds silence{3000};  // after which a task is lost
};

// What a network has to tell. Called by threads of the network's; must not wait for it.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void OnMessage(const std::string& from, TaskMessage message) = 0;
  // The task has called, or has answered.
  virtual void OnHere(const std::string& task) = 0;
  // Whatever was sent to the task and not answered is not going to be. May come more than once.
  virtual void OnLost(const std::string& task, const Status& reason) = 0;
  // The task has said that its work is complete.
  virtual void OnDone(const std::string& task) = 0;
  // The task waits for the answer.
  virtual StatusOr<std::string> OnQuestion(const std::string& task, TaskQuestion question,
                                           const std::string& request) = 0;
};

// Thread-safe.
class TaskNetwork final : public TaskMessenger, public TaskAsker {
 public:
  // `listener` outlives the network.
  TaskNetwork(TaskNetworkOptions options, TaskListener* listener);
  ~TaskNetwork() override;  // stops
  TaskNetwork(const TaskNetwork&) = delete;
  TaskNetwork& operator=(const TaskNetwork&) = delete;

  // Before the server starts; the network must outlive it.
  void AddTo(RpcServer* server);

  // NotFound for a task that is not in the cluster; Unimplemented for a tensor too large to travel.
  Status Send(const std::string& task, TaskMessage message) override;
  Status SendAll(const std::string& task, std::vector<TaskMessage> messages) override;

  // Tells all other tasks that the work of this one is complete. Those that are not there are not
  // waited for, those that do not answer not for long.
  void SayDone();

  std::map<std::string, StatusOr<std::string>> Ask(const std::vector<std::string>& tasks,
                                                   TaskQuestion question,
                                                   const std::string& request,
                                                   std::chrono::milliseconds patience) override;

  // Of messages, since the network was made.
  struct Traffic {
    int64_t bytes_sent = 0, bytes_received = 0;
  };
  Traffic traffic() const;

  // Closes all streams, and waits until the listener has taken what it is being told. Nothing is
  // sent or told any more once this returns; calls that come in are turned away. May be called
  // again.
  void Stop();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace carillon
