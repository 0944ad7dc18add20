// MasterSession: one client's graph and the steps that it runs.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/background.h"
#include "distributed/cluster/cluster_task.h"
#include "distributed/cluster/graph_memory.h"
#include "distributed/cluster/step_messages.h"
#include "distributed/cluster/task_questions.h"
#include "graph/graph_def.h"
#include "graph/node_graph.h"
#include "proto/graph.pb.h"
#include "runtime/local_session.h"

namespace carillon {

class MasterSession;

// One step that a client asked for. Made by who received the request; alive until `done` was
// called (exactly once, from any thread).
class StepCall {
 public:
  StepRequest request;
  std::function<void(StepReply)> done;

  // The client is gone, or its patience is.
  void Cancel(Status reason) { step_.cancellation.Cancel(std::move(reason)); }

 private:
  friend class MasterSession;
  AsyncStep step_;
  std::shared_ptr<MasterSession> session_;  // for as long as the step runs
};

// A step through a callable: feeds and fetches by position.
class CallableCall {
 public:
  CallableRequest request;
  std::function<void(Status, CallableReply)> done;
  void Cancel(Status reason) { step_.cancellation.Cancel(std::move(reason)); }

 private:
  friend class MasterSession;
  AsyncStep step_;
  std::shared_ptr<MasterSession> session_;
};

// The cluster that a session's steps may spread over.
struct MasterCluster {
  ClusterTask* task = nullptr;       // null: there is none
  std::vector<std::string> devices;  // of all tasks, this one's first
  TaskAsker* asker = nullptr;        // of the other tasks
};

struct MasterSessionOptions {
  tensorflow::ConfigProto config;
  std::shared_ptr<Device> device;      // its allocator is the session's share
  ResourceStore* resources = nullptr;  // those of the server; null: the session has its own
  int64_t memory_bytes = 0;            // that it may take on each task, as MakeDeviceShare
  int64_t max_nodes = 0;               // of the graph; 0: no limit
  std::shared_ptr<GraphMemory> graph_memory = std::make_shared<GraphMemory>(0);
  bool log_placement = false;
  MasterCluster cluster;
};

// Thread-safe. Invariants, under mutex_: the maps hold what was prepared and not released;
// version_ counts the extensions that succeeded.
class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  using Clock = std::chrono::steady_clock;

  MasterSession(std::string handle, MasterSessionOptions options);

  const std::string& handle() const { return handle_; }
  const std::shared_ptr<Allocator>& allocator() const { return options_.device->allocator; }

  // Adds nodes; all or nothing. Aborted when the client's idea of the graph is not ours.
  StatusOr<int64_t> Extend(const tensorflow::GraphDef& graph_def, int64_t expected_version);
  StatusOr<int64_t> Create(const tensorflow::GraphDef& graph_def);

  // As Master's.
  void RunStep(std::shared_ptr<StepCall> call, BackgroundThreads* unless_quick);

  StatusOr<std::string> SetUpPartialRun(const std::vector<std::string>& feeds,
                                        const std::vector<std::string>& fetches,
                                        const std::vector<std::string>& targets);

  StatusOr<int64_t> MakeCallable(const tensorflow::CallableOptions& options);
  void RunCallable(std::shared_ptr<CallableCall> call, BackgroundThreads* unless_quick);
  Status ReleaseCallable(int64_t handle);

  // Cancels what runs and waits for it.
  void Close();
  // The same because the server stops: steps end with `reason`.
  void Stop(const Status& reason);

  // How long nothing has run; zero while something does.
  std::chrono::nanoseconds IdleTime() const;
  const MasterCluster& cluster() const { return options_.cluster; }
  bool log_placement() const { return options_.log_placement; }

 private:
  struct ByName {
    std::vector<std::string> feeds, fetches, targets;
    auto operator<=>(const ByName&) const = default;
  };
  struct PartialRunState;
  struct PreparedState {
    GraphCharge charge;  // for the names, too
    std::shared_ptr<PreparedRun> run;
  };
  struct CallableState {
    GraphCharge charge;
    std::shared_ptr<PreparedRun> run;
    tensorflow::RunOptions options;
  };

  // ResourceExhausted when there is no room to keep it, not even when others are forgotten.
  StatusOr<std::shared_ptr<PreparedRun>> Prepare(ByName names);
  StatusOr<Endpoint> FindValue(const std::string& name, std::string_view role) const;
  StatusOr<std::vector<Endpoint>> FindValues(const std::vector<std::string>& names,
                                             std::string_view role) const;
  StatusOr<std::vector<Node*>> FindTargets(const std::vector<std::string>& names) const;
  Status WhyNotInGraph(const std::string& name, std::string_view role) const;
  RunOptions OptionsOf(const tensorflow::RunOptions& options) const;
  // What the step runs when it is known to be over sooner than another thread could take it up;
  // otherwise null. Waits for nobody.
  std::shared_ptr<PreparedRun> FindQuick(const ByName& names, AsyncStep* step);
  void ContinuePartialRun(std::shared_ptr<StepCall> call);
  void ExchangeParts(StepCall& call, StepReply* reply);
  // Makes programs that are counted in the memory for graphs.
  static ProgramMaker MakerOf(MasterSession* session);
  // Specialises a signature for the tasks that its nodes are placed on.
  StatusOr<std::shared_ptr<StepProgram>> MakeProgram(const NodeGraph& graph,
                                                     const Signature& signature,
                                                     const SpecializeOptions& options);
  // Puts the tensors themselves in the place of handles to tensors that the session keeps.
  Status ResolveHandles(std::vector<Tensor>* feeds);
  // As TensorFlow does, each node once: "name: (Op): device".
  void LogPlacement(const NodeGraph& graph, const std::string& device);
  // Of a session whose steps have ended.
  void LetGo();
  // Around everything that runs on behalf of the client.
  void Begin();
  void End();

  const std::string handle_;
  const MasterSessionOptions options_;
  NodeGraph graph_;
  MapResourceStore own_resources_;
  const std::shared_ptr<GraphShare> graphs_ = std::make_shared<GraphShare>(options_.graph_memory);
  LocalSession local_;

  std::mutex mutex_;
  NodesLeftOut left_out_;  // of graph_
  int64_t version_ = 0;
  int64_t graph_bytes_ = 0;  // of graphs_, for graph_
  std::map<ByName, PreparedState> prepared_;
  std::map<std::string, std::shared_ptr<PartialRunState>> partial_runs_;
  std::map<int64_t, CallableState> callables_;
  int64_t next_handle_ = 1;

  std::mutex tasks_mutex_;
  std::set<std::string> tasks_;  // that have programs of this session, under tasks_mutex_

  std::mutex placed_mutex_;
  std::set<std::string> placed_;  // nodes whose placement is logged, under placed_mutex_

  ThreadShare calls_;  // that run or wait, on the threads of whoever takes them
  std::atomic<int> running_{0};
  std::atomic<int64_t> last_used_ns_;
};

}  // namespace carillon
