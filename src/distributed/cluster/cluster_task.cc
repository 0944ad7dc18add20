#include "distributed/cluster/cluster_task.h"

#include <utility>

namespace carillon {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang 16 does not find out by itself

}  // namespace

ClusterTask::ClusterTask(std::string name, WorkerOptions options, TaskMessenger* network)
    : name_(std::move(name)),
      network_(network),
      coordinator_(name_, this),
      worker_(std::move(options), this, &background_) {}

Status ClusterTask::Send(const std::string& task, TaskMessage message) {
  if (task != name_) return network_->Send(task, std::move(message));
  Handle(name_, std::move(message));
  return absl::OkStatus();
}

Status ClusterTask::SendAll(const std::string& task, std::vector<TaskMessage> messages) {
  if (task != name_) return network_->SendAll(task, std::move(messages));
  return TaskMessenger::SendAll(task, std::move(messages));
}

void ClusterTask::Handle(const std::string& from, TaskMessage message) {
  std::visit(Overloaded{
                 [&](RegisterProgram& m) { worker_.Register(from, std::move(m)); },
                 [&](StartStep& m) { worker_.Start(from, std::move(m)); },
                 [&](AbortStep& m) { worker_.Abort(m); },
                 [&](carillon::EndSession& m) { worker_.End(m); },
                 [&](ReleaseProgram& m) { worker_.Release(m); },
                 [&](Deliver& m) { worker_.Receive(std::move(m)); },
                 [&](ProgramRegistered& m) { coordinator_.OnRegistered(from, std::move(m)); },
                 [&](StepDone& m) { coordinator_.OnDone(from, std::move(m)); },
             },
             message);
}

void ClusterTask::TaskLost(const std::string& task, const Status& reason) {
  worker_.TaskLost(task, reason);
  coordinator_.TaskLost(task, reason);
}

void ClusterTask::EndSession(const std::string& session, const std::vector<std::string>& tasks) {
  // A task that is out of reach ends it when it misses us.
  for (const std::string& task : tasks) Send(task, carillon::EndSession{session}).IgnoreError();
}

}  // namespace carillon
