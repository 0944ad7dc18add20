#include "distributed/cluster/master.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/logging.h"
#include "base/random_id.h"
#include "base/strings.h"
#include "distributed/cluster/device_filters.h"
#include "distributed/cluster/task_answers.h"

namespace carillon {
namespace {

// How long other tasks have to say which devices they have, and to clear containers.
constexpr std::chrono::seconds kDevicesPatience{2};
constexpr std::chrono::seconds kResetPatience{10};

std::vector<std::string> ListOf(const google::protobuf::RepeatedPtrField<std::string>& field) {
  return {field.begin(), field.end()};
}

std::string Seconds(std::chrono::nanoseconds time) {
  return StrCat(std::chrono::duration_cast<std::chrono::seconds>(time).count(), " s");
}

// Unavailable: a client whose step was cancelled would not come again.
Status IsStopping() { return absl::UnavailableError("the server is stopping"); }

}  // namespace

Master::Master(MasterOptions options, std::shared_ptr<Device> device, MapResourceStore* resources)
    : options_(std::move(options)),
      device_(std::move(device)),
      resources_(resources),
      graph_memory_(std::make_shared<GraphMemory>(options_.graph_memory_bytes)) {
  if (options_.session_idle_limit.count() > 0)
    idle_watch_ = std::thread([this] { CloseIdleSessions(); });
}

Master::~Master() { Stop(); }

void Master::Stop() {
  std::map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    sessions.swap(sessions_);
  }
  stopping_.notify_all();
  if (idle_watch_.joinable()) idle_watch_.join();
  for (auto& [handle, session] : sessions) session->Stop(IsStopping());
}

StatusOr<std::shared_ptr<MasterSession>> Master::Find(const std::string& handle) const {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) {
    if (stopped_) return IsStopping();
    const auto limit = options_.session_idle_limit;
    return absl::AbortedError(
        StrCat("session '", handle, "' is not known here: it was closed or reset, or ",
               limit.count() > 0
                   ? StrCat("not used for ", Seconds(limit), " (--session_idle_seconds), or ")
                   : "",
               "the server was restarted since"));
  }
  return found->second;
}

std::shared_ptr<MasterSession> Master::Take(const std::string& handle) {
  std::lock_guard lock(mutex_);
  const auto found = sessions_.find(handle);
  if (found == sessions_.end()) return nullptr;
  std::shared_ptr<MasterSession> session = std::move(found->second);
  sessions_.erase(found);
  return session;
}

Status Master::CreateSession(const tensorflow::CreateSessionRequest& request,
                             tensorflow::CreateSessionResponse* response) {
  tensorflow::ConfigProto config = request.config();
  config.MergeFrom(options_.session_config);
  CARILLON_ASSIGN_OR_RETURN(const DeviceFilters filters,
                            DeviceFilters::Parse(config.device_filters()));
  MasterSessionOptions options{
      .config = config,
      .device = MakeDeviceShare(*device_, options_.session_memory_bytes),
      .resources = config.isolate_session_state() ? nullptr : resources_,
      .memory_bytes = options_.session_memory_bytes,
      .max_nodes = options_.session_nodes,
      .graph_memory = graph_memory_,
      .log_placement = options_.log_placement || config.log_device_placement(),
      .cluster = options_.cluster};
  // A session always sees its own task.
  std::erase_if(options.cluster.devices, [&](const std::string& device) {
    return device != device_->name && !filters.Admit(device);
  });
  auto session = std::make_shared<MasterSession>(
      absl::StrCat(absl::Hex(RandomId(), absl::kZeroPad16)), std::move(options));
  CARILLON_ASSIGN_OR_RETURN(const int64_t version, session->Create(request.graph_def()));
  response->set_session_handle(session->handle());
  response->set_graph_version(version);
  std::lock_guard lock(mutex_);
  if (stopped_) return IsStopping();
  sessions_.emplace(session->handle(), std::move(session));
  return absl::OkStatus();
}

Status Master::ExtendSession(const tensorflow::ExtendSessionRequest& request,
                             tensorflow::ExtendSessionResponse* response) {
  CARILLON_ASSIGN_OR_RETURN(const auto session, Find(request.session_handle()));
  CARILLON_ASSIGN_OR_RETURN(const int64_t version,
                            session->Extend(request.graph_def(), request.current_graph_version()));
  response->set_new_graph_version(version);
  return absl::OkStatus();
}

Status Master::PartialRunSetup(const tensorflow::PartialRunSetupRequest& request,
                               tensorflow::PartialRunSetupResponse* response) {
  CARILLON_ASSIGN_OR_RETURN(const auto session, Find(request.session_handle()));
  CARILLON_ASSIGN_OR_RETURN(
      *response->mutable_partial_run_handle(),
      session->SetUpPartialRun(ListOf(request.feed()), ListOf(request.fetch()),
                               ListOf(request.target())));
  return absl::OkStatus();
}

Status Master::MakeCallable(const tensorflow::MakeCallableRequest& request,
                            tensorflow::MakeCallableResponse* response) {
  CARILLON_ASSIGN_OR_RETURN(const auto session, Find(request.session_handle()));
  CARILLON_ASSIGN_OR_RETURN(const int64_t handle, session->MakeCallable(request.options()));
  response->set_handle(handle);
  return absl::OkStatus();
}

Status Master::ReleaseCallable(const tensorflow::ReleaseCallableRequest& request) {
  CARILLON_ASSIGN_OR_RETURN(const auto session, Find(request.session_handle()));
  return session->ReleaseCallable(request.handle());
}

Status Master::ListDevices(const tensorflow::ListDevicesRequest& request,
                           tensorflow::ListDevicesResponse* response) {
  MasterCluster cluster = options_.cluster;
  if (!request.session_handle().empty()) {
    CARILLON_ASSIGN_OR_RETURN(const auto session, Find(request.session_handle()));
    cluster = session->cluster();
  }
  *response->add_local_device() = Describe(*device_);
  std::vector<std::string> others;
  for (const std::string& device : cluster.devices) {
    if (device != device_->name) others.push_back(TaskOfDevice(device));
  }
  if (others.empty()) return absl::OkStatus();
  const auto answers = cluster.asker->Ask(others, TaskQuestion::kDevices, "", kDevicesPatience);
  for (const std::string& name : cluster.devices) {
    if (name == device_->name) continue;
    const std::string task = TaskOfDevice(name);
    const StatusOr<std::string>& answer = answers.at(task);
    tensorflow::ListDevicesResponse devices;
    if (answer.ok() && devices.ParseFromString(*answer)) {
      response->mutable_remote_device()->MergeFrom(devices.local_device());
      continue;
    }
    // It may still come: what is known without it.
    LogWarning("does not say which devices it has: ", task, ": ", answer.status().message());
    tensorflow::DeviceAttributes* device = response->add_remote_device();
    device->set_name(name);
    device->set_device_type("CPU");
  }
  return absl::OkStatus();
}

Status Master::CloseSession(const tensorflow::CloseSessionRequest& request) {
  CARILLON_RETURN_IF_ERROR(Find(request.session_handle()).status());
  if (const auto session = Take(request.session_handle())) session->Close();
  return absl::OkStatus();
}

Status Master::Reset(const tensorflow::ResetRequest& request) {
  std::map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    std::lock_guard lock(mutex_);
    sessions.swap(sessions_);
  }
  for (auto& [handle, session] : sessions) session->Close();
  LogInfo("reset: ", sessions.size(), " sessions closed; clearing ",
          request.container().empty() ? "the default container" : "the containers named");
  return ClearOnTasks(request);
}

Status Master::ClearOnTasks(const tensorflow::ResetRequest& request) {
  CARILLON_ASSIGN_OR_RETURN(const DeviceFilters filters,
                            DeviceFilters::Parse(request.device_filters()));
  if (filters.Admit(device_->name)) ClearContainers(request, resources_);
  std::vector<std::string> others;
  for (const std::string& device : options_.cluster.devices) {
    if (device != device_->name && filters.Admit(device)) others.push_back(TaskOfDevice(device));
  }
  if (others.empty()) return absl::OkStatus();
  Status first;
  std::vector<std::string> missing;
  for (const auto& [task, answer] : options_.cluster.asker->Ask(
           others, TaskQuestion::kReset, request.SerializeAsString(), kResetPatience)) {
    if (answer.ok()) continue;
    first.Update(answer.status());
    missing.push_back(StrCat(task, " (", std::string(answer.status().message()), ")"));
  }
  if (first.ok()) return first;
  return Status(first.code(), StrCat("the containers may not be cleared on ",
                                     absl::StrJoin(missing, ", "), ": no answer"));
}

void Master::RunStep(std::shared_ptr<StepCall> call, BackgroundThreads* unless_quick) {
  StatusOr<std::shared_ptr<MasterSession>> session = Find(call->request.session_handle);
  if (!session.ok()) return call->done({.status = session.status()});
  ++steps_;
  (*session)->RunStep(std::move(call), unless_quick);
}

void Master::RunCallable(std::shared_ptr<CallableCall> call, BackgroundThreads* unless_quick) {
  StatusOr<std::shared_ptr<MasterSession>> session = Find(call->request.session_handle);
  if (!session.ok()) return call->done(session.status(), {});
  ++steps_;
  (*session)->RunCallable(std::move(call), unless_quick);
}

void Master::Abandon(const std::string& session_handle) {
  const std::shared_ptr<MasterSession> session = Take(session_handle);
  if (session == nullptr) return;
  LogInfo("session ", session_handle, ": its client went away in the middle of a call; closed");
  session->Close();
}

std::shared_ptr<Allocator> Master::AllocatorOf(const std::string& session_handle) {
  const StatusOr<std::shared_ptr<MasterSession>> session = Find(session_handle);
  return session.ok() ? (*session)->allocator() : device_->allocator;
}

size_t Master::num_sessions() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

void Master::CloseIdleSessions() {
  const auto period = std::clamp<std::chrono::milliseconds>(
      options_.session_idle_limit / 4, std::chrono::milliseconds(10), std::chrono::minutes(1));
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, period, [this] { return stopped_; })) {
    std::vector<std::shared_ptr<MasterSession>> idle;
    for (const auto& [handle, session] : sessions_) {
      if (session->IdleTime() > options_.session_idle_limit) idle.push_back(session);
    }
    for (const auto& session : idle) sessions_.erase(session->handle());
    lock.unlock();
    for (const auto& session : idle) {
      LogInfo("session ", session->handle(), ": idle for more than ",
              Seconds(options_.session_idle_limit), "; closed");
      session->Close();
    }
    idle.clear();
    lock.lock();
  }
}

}  // namespace carillon
