#include "distributed/cluster/master_session.h"

#include <algorithm>

#include "base/logging.h"
#include "base/strings.h"
#include "graph/graph_def.h"
#include "kernels/session_tensors.h"

namespace carillon {
namespace {

// About what it takes until another thread has taken up a step.
constexpr std::chrono::microseconds kHandOver{100};

SessionOptions LocalOptions(const tensorflow::ConfigProto& config) {
  return {.allow_soft_placement = config.allow_soft_placement(),
          .threads = std::clamp(config.intra_op_parallelism_threads(), 0, 1024),
          .optimize = config.graph_options().optimizer_options().opt_level() !=
                      tensorflow::OptimizerOptions::L0};
}

int64_t NowNs() { return MasterSession::Clock::now().time_since_epoch().count(); }

// Of a step that has run: a serialized RunMetadata, empty when nothing was asked for.
std::string MetadataOf(const AsyncStep& step, const tensorflow::RunOptions& options) {
  tensorflow::RunMetadata metadata;
  const StepProgram& program = *step.program();
  if (step.options.trace) {
    if (program.local_program() != nullptr)
      metadata.mutable_step_stats()->ParseFromString(step.metadata.SerializeStepStats());
    for (const std::string& of_task : step.trace().step_stats)
      metadata.mutable_step_stats()->MergeFromString(of_task);
  }
  if (options.output_partition_graphs()) {
    for (const NodeGraph* graph : program.graphs())
      ExportGraphDef(*graph, metadata.add_partition_graphs());
  }
  return metadata.SerializeAsString();
}

}  // namespace

// Invariant: `step` is used by one call at a time, under mutex; null once the session is closed.
struct MasterSession::PartialRunState {
  std::mutex mutex;
  std::vector<std::string> feeds, fetches;
  std::unique_ptr<StepInParts> step;
};

MasterSession::MasterSession(std::string handle, MasterSessionOptions options)
    : handle_(std::move(handle)),
      options_(std::move(options)),
      local_(graph_, options_.device,
             options_.resources != nullptr ? options_.resources : &own_resources_,
             LocalOptions(options_.config), MakerOf(this)),
      last_used_ns_(NowNs()) {
  if (options_.cluster.task != nullptr) {
    options_.cluster.task->worker().Adopt(
        handle_, options_.device,
        options_.resources != nullptr ? options_.resources : &own_resources_, &local_.state());
  }
}

ProgramMaker MasterSession::MakerOf(MasterSession* session) {
  if (session->options_.cluster.task == nullptr) return nullptr;
  return [session](const NodeGraph& graph, const Signature& signature,
                   const SpecializeOptions& options) {
    return session->MakeProgram(graph, signature, options);
  };
}

StatusOr<std::shared_ptr<StepProgram>> MasterSession::MakeProgram(
    const NodeGraph& graph, const Signature& signature, const SpecializeOptions& options) {
  const MasterCluster& cluster = options_.cluster;
  CARILLON_ASSIGN_OR_RETURN(
      PartitionedGraph parts,
      SpecializeInParts(graph, signature, cluster.devices, *options_.device, options));
  if (options_.log_placement) {
    for (const Part& part : parts.parts) LogPlacement(*part.graph, part.device);
  }
  if (parts.parts.size() == 1 && parts.parts[0].device == options_.device->name) {
    return Executable::FromPart(std::move(parts.parts[0].graph), options_.device, &local_.state(),
                                options);
  }
  std::set<std::string> tasks;
  for (const Part& part : parts.parts) tasks.insert(TaskOfDevice(part.device));
  ProgramOptions program{.session = handle_,
                         .own_resources = options_.resources == nullptr,
                         .memory_bytes = options_.memory_bytes,
                         .optimize = options.optimize,
                         .exact = options.lowering.kernels.exact,
                         .measure = options.lowering.kernels.measure,
                         .is_temporary = options.in_parts};
  {
    std::lock_guard lock(tasks_mutex_);
    program.known_to = tasks_;
  }
  CARILLON_ASSIGN_OR_RETURN(std::shared_ptr<StepProgram> registered,
                            cluster.task->coordinator().Register(std::move(parts), program));
  std::lock_guard lock(tasks_mutex_);
  tasks_.merge(tasks);
  return registered;
}

void MasterSession::Begin() { running_.fetch_add(1, std::memory_order_relaxed); }

void MasterSession::End() {
  last_used_ns_.store(NowNs(), std::memory_order_relaxed);
  running_.fetch_sub(1, std::memory_order_release);
}

std::chrono::nanoseconds MasterSession::IdleTime() const {
  if (running_.load(std::memory_order_acquire) > 0) return std::chrono::nanoseconds(0);
  return std::chrono::nanoseconds(NowNs() - last_used_ns_.load(std::memory_order_relaxed));
}

StatusOr<int64_t> MasterSession::Create(const tensorflow::GraphDef& graph_def) {
  return Extend(graph_def, 0);
}

StatusOr<int64_t> MasterSession::Extend(const tensorflow::GraphDef& graph_def,
                                        int64_t expected_version) {
  std::lock_guard lock(mutex_);
  if (expected_version != version_) {
    return absl::AbortedError(StrCat("the client extends version ", expected_version,
                                     " of the graph, but the session is at version ", version_));
  }
  int64_t nodes = graph_.num_nodes() + int64_t{graph_def.node_size()};
  for (const tensorflow::FunctionDef& function : graph_def.library().function())
    nodes += function.node_def_size();
  if (options_.max_nodes > 0 && nodes > options_.max_nodes) {
    return ResourceExhausted("the graph would have ", nodes, " nodes, but the server takes ",
                             options_.max_nodes, " of one session (--session_node_limit)");
  }
  Begin();
  const Status status = local_.ChangeGraph(
      [&] { return ImportGraphDef(graph_def, /*prefix=*/"", &graph_, allocator().get()); });
  End();
  CARILLON_RETURN_IF_ERROR(status);
  if (options_.log_placement && options_.cluster.task == nullptr)
    LogPlacement(graph_, options_.device->name);
  return ++version_;
}

void MasterSession::LogPlacement(const NodeGraph& graph, const std::string& device) {
  std::lock_guard lock(placed_mutex_);
  for (const auto& node : graph.nodes()) {
    // What only moves values about is not the client's.
    if (node != nullptr && !node->op().starts_with("_") && placed_.insert(node->name()).second)
      LogInfo(node->name(), ": (", node->op(), "): ", device);
  }
}

StatusOr<Endpoint> MasterSession::FindValue(const std::string& name, std::string_view role) const {
  StatusOr<Endpoint> found = FindEndpoint(graph_, name);
  if (!found.ok())
    return absl::NotFoundError(StrCat("the ", role, " '", name, "' is not in the graph"));
  return found;
}

StatusOr<std::vector<Endpoint>> MasterSession::FindValues(const std::vector<std::string>& names,
                                                          std::string_view role) const {
  std::vector<Endpoint> values;
  for (const std::string& name : names) {
    CARILLON_ASSIGN_OR_RETURN(const Endpoint value, FindValue(name, role));
    values.push_back(value);
  }
  return values;
}

StatusOr<std::vector<Node*>> MasterSession::FindTargets(
    const std::vector<std::string>& names) const {
  std::vector<Node*> targets;
  for (const std::string& name : names) {
    Node* node = graph_.Find(name);
    if (node == nullptr)
      return absl::NotFoundError(StrCat("the target '", name, "' is not in the graph"));
    targets.push_back(node);
  }
  return targets;
}

StatusOr<std::shared_ptr<PreparedRun>> MasterSession::Prepare(ByName names) {
  std::lock_guard lock(mutex_);
  if (const auto found = prepared_.find(names); found != prepared_.end()) return found->second;
  CARILLON_ASSIGN_OR_RETURN(const auto feeds, FindValues(names.feeds, "feed"));
  CARILLON_ASSIGN_OR_RETURN(const auto fetches, FindValues(names.fetches, "fetch"));
  CARILLON_ASSIGN_OR_RETURN(const auto targets, FindTargets(names.targets));
  CARILLON_ASSIGN_OR_RETURN(auto run, local_.Prepare(feeds, fetches, targets));
  prepared_.emplace(std::move(names), run);
  return run;
}

RunOptions MasterSession::OptionsOf(const tensorflow::RunOptions& options) const {
  const int64_t timeout = options.timeout_in_ms() > 0 ? options.timeout_in_ms()
                                                      : options_.config.operation_timeout_in_ms();
  constexpr int64_t kLongest = int64_t{1} << 40;  // no overflow when the clock is added
  return {.timeout = std::chrono::milliseconds(std::clamp<int64_t>(timeout, 0, kLongest)),
          .trace = options.trace_level() > tensorflow::RunOptions::NO_TRACE};
}

Status MasterSession::ResolveHandles(std::vector<Tensor>* feeds) {
  for (Tensor& feed : *feeds) {
    if (feed.dtype() != DType::kResource) continue;
    CARILLON_ASSIGN_OR_RETURN(const auto tensors, SessionTensors::Of(local_.state()));
    CARILLON_ASSIGN_OR_RETURN(feed, tensors->Resolve(feed));
  }
  return absl::OkStatus();
}

bool MasterSession::IsQuick(const ByName& names, std::span<const Tensor> feeds) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const auto found = prepared_.find(names);
  return found != prepared_.end() && local_.IsQuick(*found->second, feeds, kHandOver);
}

void MasterSession::RunStep(std::shared_ptr<StepCall> call, BackgroundThreads* unless_quick) {
  const StepRequest& request = call->request;
  const auto hand_over = [&] {
    unless_quick->Start([self = shared_from_this(), call]() mutable {
      call->step_.feeds.clear();
      self->RunStep(std::move(call), nullptr);
    });
  };
  if (!request.partial_run_handle.empty())
    return unless_quick != nullptr ? hand_over() : ContinuePartialRun(std::move(call));
  ByName names{{}, request.fetches, request.targets};
  names.feeds.reserve(request.feeds.size());
  AsyncStep& step = call->step_;
  for (const auto& [name, tensor] : request.feeds) {
    names.feeds.push_back(name);
    step.feeds.push_back(tensor);
  }
  if (unless_quick != nullptr && !IsQuick(names, step.feeds)) return hand_over();
  Begin();
  call->session_ = shared_from_this();
  step.options = OptionsOf(request.options);
  step.done = [this, call](Status status) {
    StepReply reply{.status = std::move(status)};
    if (reply.status.ok()) {
      for (size_t i = 0; i < call->request.fetches.size(); ++i)
        reply.tensors.emplace_back(call->request.fetches[i], std::move(call->step_.fetches[i]));
      reply.metadata = MetadataOf(call->step_, call->request.options);
    }
    End();
    const std::shared_ptr<MasterSession> session = std::move(call->session_);
    call->done(std::move(reply));
  };
  StatusOr<std::shared_ptr<PreparedRun>> run = Prepare(std::move(names));
  const Status status = run.ok() ? ResolveHandles(&step.feeds) : run.status();
  if (!status.ok()) return std::exchange(step.done, nullptr)(status);
  local_.RunAsync(**run, &step);
}

StatusOr<std::string> MasterSession::SetUpPartialRun(const std::vector<std::string>& feeds,
                                                     const std::vector<std::string>& fetches,
                                                     const std::vector<std::string>& targets) {
  auto state = std::make_shared<PartialRunState>();
  std::lock_guard lock(mutex_);
  CARILLON_ASSIGN_OR_RETURN(const auto feed_points, FindValues(feeds, "feed"));
  CARILLON_ASSIGN_OR_RETURN(const auto fetch_points, FindValues(fetches, "fetch"));
  CARILLON_ASSIGN_OR_RETURN(const auto target_nodes, FindTargets(targets));
  CARILLON_ASSIGN_OR_RETURN(state->step,
                            local_.StartInParts(feed_points, fetch_points, target_nodes));
  state->feeds = feeds;
  state->fetches = fetches;
  const std::string handle = StrCat(handle_, "/", next_handle_++);
  partial_runs_.emplace(handle, std::move(state));
  return handle;
}

void MasterSession::ContinuePartialRun(std::shared_ptr<StepCall> call) {
  Begin();
  call->session_ = shared_from_this();
  StepReply reply;
  ExchangeParts(*call, &reply);
  End();
  call->done(std::move(reply));
}

void MasterSession::ExchangeParts(StepCall& call, StepReply* reply) {
  const StepRequest& request = call.request;
  std::shared_ptr<PartialRunState> state;
  {
    std::lock_guard lock(mutex_);
    const auto found = partial_runs_.find(request.partial_run_handle);
    if (found == partial_runs_.end()) {
      reply->status = InvalidArgument("there is no partial run '", request.partial_run_handle,
                                      "': it was never set up, or it is over");
      return;
    }
    state = found->second;
  }
  std::lock_guard lock(state->mutex);
  if (state->step == nullptr) {
    reply->status = absl::CancelledError("the session was closed during the partial run");
    return;
  }
  const auto position = [&](const std::vector<std::string>& names, const std::string& name,
                            size_t* place) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) {
      reply->status = InvalidArgument("'", name, "' was not named when the partial run was set up");
      return false;
    }
    *place = static_cast<size_t>(found - names.begin());
    return true;
  };
  std::vector<Tensor> values;
  for (const auto& [name, value] : request.feeds) values.push_back(value);
  if (reply->status = ResolveHandles(&values); !reply->status.ok()) return;
  std::vector<std::pair<size_t, Tensor>> feeds;
  std::vector<size_t> fetches;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!position(state->feeds, request.feeds[i].first, &feeds.emplace_back(0, values[i]).first))
      return;
  }
  for (const std::string& name : request.fetches) {
    if (!position(state->fetches, name, &fetches.emplace_back())) return;
  }
  std::vector<Tensor> results;
  reply->status = state->step->ExchangeUntil(OptionsOf(request.options), &call.step_.cancellation,
                                             feeds, fetches, &results);
  if (reply->status.ok()) {
    for (size_t i = 0; i < results.size(); ++i)
      reply->tensors.emplace_back(request.fetches[i], std::move(results[i]));
  }
  if (state->step->IsOver()) {
    std::lock_guard session_lock(mutex_);
    partial_runs_.erase(request.partial_run_handle);
  }
}

StatusOr<int64_t> MasterSession::MakeCallable(const tensorflow::CallableOptions& options) {
  if (options.tensor_connection_size() > 0)
    return Unimplemented("callables with tensor connections are not supported");
  ByName names{{options.feed().begin(), options.feed().end()},
               {options.fetch().begin(), options.fetch().end()},
               {options.target().begin(), options.target().end()}};
  CARILLON_ASSIGN_OR_RETURN(auto run, Prepare(std::move(names)));
  std::lock_guard lock(mutex_);
  const int64_t handle = next_handle_++;
  callables_.emplace(handle, CallableState{std::move(run), options.run_options()});
  return handle;
}

void MasterSession::RunCallable(std::shared_ptr<CallableCall> call,
                                BackgroundThreads* unless_quick) {
  const auto hand_over = [&] {
    unless_quick->Start([self = shared_from_this(), call]() mutable {
      self->RunCallable(std::move(call), nullptr);
    });
  };
  CallableState callable;
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (unless_quick == nullptr) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return hand_over();
    }
    const auto found = callables_.find(call->request.handle);
    if (found != callables_.end()) callable = found->second;
  }
  if (callable.run == nullptr) {
    return call->done(InvalidArgument("there is no callable ", call->request.handle,
                                      ": it was never made, or it was released"),
                      {});
  }
  if (unless_quick != nullptr && !local_.IsQuick(*callable.run, call->request.feeds, kHandOver))
    return hand_over();
  Begin();
  call->session_ = shared_from_this();
  AsyncStep& step = call->step_;
  step.feeds = std::move(call->request.feeds);
  step.options = OptionsOf(callable.options);
  step.done = [this, call, options = callable.options](Status status) {
    CallableReply reply;
    if (status.ok()) {
      reply.metadata = MetadataOf(call->step_, options);
      reply.fetches = std::move(call->step_.fetches);
    }
    End();
    const std::shared_ptr<MasterSession> session = std::move(call->session_);
    call->done(std::move(status), std::move(reply));
  };
  if (const Status status = ResolveHandles(&step.feeds); !status.ok())
    return std::exchange(step.done, nullptr)(status);
  local_.RunAsync(*callable.run, &step);
}

Status MasterSession::ReleaseCallable(int64_t handle) {
  std::lock_guard lock(mutex_);
  if (callables_.erase(handle) == 0)
    return InvalidArgument("there is no callable ", handle, ": it was never made, or was released");
  return absl::OkStatus();
}

void MasterSession::Close() {
  local_.Close();
  if (options_.cluster.task != nullptr) {
    std::lock_guard lock(tasks_mutex_);
    tasks_.insert(options_.cluster.task->name());
    options_.cluster.task->EndSession(handle_, {tasks_.begin(), tasks_.end()});
    tasks_.clear();
  }
  std::map<std::string, std::shared_ptr<PartialRunState>> partial_runs;
  {
    std::lock_guard lock(mutex_);
    partial_runs.swap(partial_runs_);
  }
  // A call that waits for a fetch ends with the step, which Close has cancelled.
  for (auto& [handle, state] : partial_runs) {
    std::lock_guard lock(state->mutex);
    state->step.reset();
  }
}

}  // namespace carillon
