#include "master_fixture.h"

#include <algorithm>
#include <future>
#include <string_view>

#include "base/throw.h"

namespace carillon {
namespace {

constexpr int64_t kMemory = 16 << 20;
constexpr int64_t kDeadlineMs = 20;

bool WritesFiles(std::string_view op) {
  for (const std::string_view part : {"File", "Save", "Restore", "Checkpoint", "Cache", "Reader",
                                      "Print", "Directory", "Events"}) {
    if (op.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

FuzzedMaster::FuzzedMaster()
    : device_(MakeCpuDevice("/job:fuzz/replica:0/task:0", {.limit_bytes = 4 * kMemory})),
      master_({.session_memory_bytes = kMemory}, device_, &resources_) {}

Status FuzzedMaster::Run(StepRequest request) {
  auto call = std::make_shared<StepCall>();
  call->request = std::move(request);
  call->request.options.set_timeout_in_ms(kDeadlineMs);
  std::promise<Status> result;
  call->done = [&](StepReply reply) { result.set_value(reply.status); };
  master_.RunStep(call);
  return result.get_future().get();
}

Status FuzzedMaster::Run(CallableRequest request) {
  auto call = std::make_shared<CallableCall>();
  call->request = std::move(request);
  std::promise<Status> result;
  call->done = [&](Status status, CallableReply) { result.set_value(status); };
  std::future<Status> future = result.get_future();
  master_.RunCallable(call);
  if (future.wait_for(std::chrono::milliseconds(kDeadlineMs)) != std::future_status::ready)
    call->Cancel(absl::CancelledError("the fuzzer does not wait"));
  return future.get();
}

bool TouchesFiles(const tensorflow::GraphDef& graph) {
  const auto writes = [](const tensorflow::NodeDef& node) { return WritesFiles(node.op()); };
  if (std::any_of(graph.node().begin(), graph.node().end(), writes)) return true;
  return std::any_of(graph.library().function().begin(), graph.library().function().end(),
                     [&](const tensorflow::FunctionDef& function) {
                       return std::any_of(function.node_def().begin(), function.node_def().end(),
                                          writes);
                     });
}

}  // namespace carillon
