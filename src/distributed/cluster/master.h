// Master: the sessions of a server's clients. What the MasterService protocol means, without the
// transport.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "distributed/cluster/master_session.h"
#include "proto/master.pb.h"
#include "runtime/device.h"
#include "runtime/resource_store.h"

namespace carillon {

struct MasterOptions {
  int64_t session_memory_bytes = 0;  // that a session's steps may take, as MakeDeviceShare
  int64_t session_nodes = 0;         // most nodes of one session's graph; 0: no limit
  int64_t graph_memory_bytes = 0;    // see GraphMemory; 0: no limit
  std::chrono::milliseconds session_idle_limit{0};  // after which a session is closed; 0: never
  bool log_placement = false;                       // for every session
  tensorflow::ConfigProto session_config;           // merged over each session's own
  MasterCluster cluster;
};

// Thread-safe. All calls may be made from any thread; those that take a request and return a
// response may take long (a large graph).
//
// Invariant, under mutex_: sessions_ holds the open sessions. They are closed outside of the lock,
// since that waits for their steps.
class Master {
 public:
  // `resources` are shared by the sessions and must outlive the master.
  Master(MasterOptions options, std::shared_ptr<Device> device, MapResourceStore* resources);
  ~Master();

  Status CreateSession(const tensorflow::CreateSessionRequest& request,
                       tensorflow::CreateSessionResponse* response);
  Status ExtendSession(const tensorflow::ExtendSessionRequest& request,
                       tensorflow::ExtendSessionResponse* response);
  Status PartialRunSetup(const tensorflow::PartialRunSetupRequest& request,
                         tensorflow::PartialRunSetupResponse* response);
  Status MakeCallable(const tensorflow::MakeCallableRequest& request,
                      tensorflow::MakeCallableResponse* response);
  Status ReleaseCallable(const tensorflow::ReleaseCallableRequest& request);
  Status ListDevices(const tensorflow::ListDevicesRequest& request,
                     tensorflow::ListDevicesResponse* response);
  Status CloseSession(const tensorflow::CloseSessionRequest& request);
  // Closes the sessions of this master. An error names the tasks whose containers may not be
  // cleared.
  Status Reset(const tensorflow::ResetRequest& request);

  // `unless_quick`: where the step runs unless it is known to take less time than handing it over,
  // always the same; each session has a share of it (ThreadShare). null: it runs here.
  void RunStep(std::shared_ptr<StepCall> call, BackgroundThreads* unless_quick = nullptr);
  void RunCallable(std::shared_ptr<CallableCall> call, BackgroundThreads* unless_quick = nullptr);

  // The client of this session is gone: closes it and says so in the log.
  void Abandon(const std::string& session_handle);

  // Where a session's tensors go; those of unknown sessions go to the server's own memory.
  std::shared_ptr<Allocator> AllocatorOf(const std::string& session_handle);

  size_t num_sessions() const;
  int64_t num_steps() const { return steps_; }  // that clients have asked for
  const Device& device() const { return *device_; }

  // Ends every session, its steps with an error after which TensorFlow's clients come again.
  // Nothing new is accepted.
  void Stop();

 private:
  StatusOr<std::shared_ptr<MasterSession>> Find(const std::string& handle) const;
  std::shared_ptr<MasterSession> Take(const std::string& handle);
  void CloseIdleSessions();
  // Clears the containers of the request on the tasks that its filters admit.
  Status ClearOnTasks(const tensorflow::ResetRequest& request);

  const MasterOptions options_;
  const std::shared_ptr<Device> device_;
  MapResourceStore* const resources_;
  const std::shared_ptr<GraphMemory> graph_memory_;
  std::atomic<int64_t> steps_{0};

  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<MasterSession>> sessions_;
  bool stopped_ = false;
  std::condition_variable stopping_;
  std::thread idle_watch_;
};

}  // namespace carillon
