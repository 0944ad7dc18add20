#include "distributed/cluster/master_session.h"

#include <algorithm>
#include <unordered_map>

#include "base/logging.h"
#include "base/strings.h"
#include "base/throw.h"
#include "graph/graph_def.h"
#include "kernels/session_tensors.h"
#include "runtime/program_memory.h"
#include "tensor/memory_charge.h"
#include "tensor/parsed_bytes.h"
#include "tensor/text_memory.h"

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

// What cannot be done must not be left out without a word.
Status CheckOptions(const tensorflow::RunOptions& options) {
  const auto& watches = options.debug_options().debug_tensor_watch_opts();
  if (watches.empty()) return absl::OkStatus();
  return Unimplemented(
      "the debugger (tfdbg) is not supported, and the options of this run have it watch ",
      watches.size(), " tensors, the first of node '", watches[0].node_name(),
      "': run without it, and fetch what you want to see");
}

// Of a signature in the tables of a session, without names: about what one value takes, and what
// the smallest does.
constexpr int64_t kValueBytes = 64;
constexpr int64_t kSignatureBytes = 512;

int64_t BytesOf(const std::vector<std::string>& names) {
  constexpr int64_t kName = sizeof(std::string) + 16;  // besides its letters
  int64_t bytes = 0;
  for (const std::string& name : names)
    bytes += kValueBytes + kName + static_cast<int64_t>(name.size());
  return bytes;
}

// What the metadata of a step will take, about.
int64_t EstimateMetadata(const AsyncStep& step, const tensorflow::RunOptions& options) {
  int64_t bytes = step.trace().bytes;
  for (const std::string& of_task : step.trace().step_stats)
    bytes += static_cast<int64_t>(MostParsedBytes<tensorflow::StepStats>(of_task));
  if (!options.output_partition_graphs()) return bytes;
  for (const NodeGraph* graph : step.program()->graphs()) {
    bytes += EstimateGraph(*graph);
    for (const auto& node : graph->nodes()) {
      if (node == nullptr) continue;
      for (const auto& [name, value] : node->attrs()) {
        if (const auto* tensor = value.get_if<Tensor>(); tensor != nullptr && tensor->has_value())
          bytes += static_cast<int64_t>(tensor->num_bytes()) + TextBytes(*tensor);
      }
    }
  }
  return bytes;
}

// Adds to the reply of a step that has run what was asked for besides its values: a serialized
// RunMetadata, on the account of the session. ResourceExhausted when there is no room.
template <typename Reply>
Status AddMetadata(const AsyncStep& step, const tensorflow::RunOptions& options,
                   Allocator* allocator, Reply* reply) {
  if (!step.options.trace && !options.output_partition_graphs()) return absl::OkStatus();
  const WorkPause pause;  // for protobuf
  const int64_t bytes = EstimateMetadata(step, options);
  auto charge = std::make_shared<MemoryCharge>(allocator);
  CARILLON_RETURN_IF_ERROR(charge->Add(2 * bytes));  // as messages, and serialized
  {
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
    reply->metadata = metadata.SerializeAsString();
  }
  const auto left = static_cast<int64_t>(reply->metadata.size());
  charge->Remove(std::max<int64_t>(0, charge->bytes() - left));
  reply->metadata_charge = std::move(charge);
  return absl::OkStatus();
}

// The same, with what is thrown as a status: a step ends where nobody catches it.
template <typename Reply>
Status TryAddMetadata(const AsyncStep& step, const tensorflow::RunOptions& options,
                      Allocator* allocator, Reply* reply) {
  Status status;
  const Status thrown =
      CatchAsStatus([&] { status = AddMetadata(step, options, allocator, reply); });
  return thrown.ok() ? status : thrown;
}

}  // namespace

// Invariant: `step` is used by one call at a time, under mutex; null once the session is closed.
struct MasterSession::PartialRunState {
  GraphCharge charge;
  std::mutex mutex;
  std::unordered_map<std::string, size_t> feeds, fetches;  // places by names
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
  return [session](const NodeGraph& graph, const Signature& signature,
                   const SpecializeOptions& options) -> StatusOr<std::shared_ptr<StepProgram>> {
    const std::shared_ptr<GraphShare> graphs = session->graphs_;
    std::shared_ptr<StepProgram> program;
    try {
      // A small graph may need much to become a program, and be large when it is one.
      const WorkScope scope(graphs.get(), CurrentCancelFlag());
      CARILLON_ASSIGN_OR_RETURN(program, session->MakeProgram(graph, signature, options));
    } catch (const BudgetExceeded&) {
      return graphs->NoRoom("what it takes to make a program of the graph");
    }
    const WorkPause pause;
    int64_t bytes = 0;
    for (const NodeGraph* part : program->graphs()) bytes += EstimateProgram(*part);
    CARILLON_RETURN_IF_ERROR(graphs->Take(bytes));
    // It takes its memory for as long as anybody holds it.
    return std::shared_ptr<StepProgram>(program.get(), [program, graphs, bytes](void*) mutable {
      program.reset();
      graphs->Discharge(bytes);
    });
  };
}

StatusOr<std::shared_ptr<StepProgram>> MasterSession::MakeProgram(
    const NodeGraph& graph, const Signature& signature, const SpecializeOptions& options) {
  const MasterCluster& cluster = options_.cluster;
  if (cluster.task == nullptr)
    return Executable::Make(graph, signature, options_.device, &local_.state(), options);
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
  const WorkPause pause;  // gRPC is not made for what operator new may throw
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
  constexpr int64_t kSession = 16 << 10;  // what the smallest takes
  CARILLON_RETURN_IF_ERROR(
      graphs_->Take(kSession + static_cast<int64_t>(options_.config.ByteSizeLong())));
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
  const int64_t bytes = GraphMemory::Estimate(graph_def, graph_.functions().get());
  CARILLON_RETURN_IF_ERROR(graphs_->Take(bytes));
  Begin();
  Status status;
  status.Update(CatchAsStatus([&] {
    status = local_.ChangeGraph(
        [&] { return ImportKnownNodes(graph_def, &graph_, &left_out_, allocator().get()); });
  }));
  End();
  if (!status.ok()) {
    graphs_->Discharge(bytes);
    return status;
  }
  graph_bytes_ += bytes;
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
  return found.ok() ? found : WhyNotInGraph(name, role);
}

Status MasterSession::WhyNotInGraph(const std::string& name, std::string_view role) const {
  const auto found = left_out_.find(name.substr(0, name.find(':')));
  if (found != left_out_.end()) return found->second;
  return NotFound("the ", role, " '", name, "' is not in the graph");
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
    if (node == nullptr) return WhyNotInGraph(name, "target");
    targets.push_back(node);
  }
  return targets;
}

StatusOr<std::shared_ptr<PreparedRun>> MasterSession::Prepare(ByName names) {
  std::lock_guard lock(mutex_);
  if (const auto found = prepared_.find(names); found != prepared_.end()) return found->second.run;
  CARILLON_ASSIGN_OR_RETURN(const auto feeds, FindValues(names.feeds, "feed"));
  CARILLON_ASSIGN_OR_RETURN(const auto fetches, FindValues(names.fetches, "fetch"));
  CARILLON_ASSIGN_OR_RETURN(const auto targets, FindTargets(names.targets));
  const int64_t bytes =
      kSignatureBytes + BytesOf(names.feeds) + BytesOf(names.fetches) + BytesOf(names.targets);
  StatusOr<GraphCharge> charge = GraphCharge::Take(graphs_, bytes);
  // A program takes about this many times the graph and its signature while it is made.
  constexpr int64_t kProgram = 8;
  // Other tasks keep their parts until the session ends: nothing is won by forgetting those.
  if ((!charge.ok() || graphs_->IsShortOf(kProgram * (graph_bytes_ + bytes))) &&
      options_.cluster.task == nullptr) {
    prepared_.clear();
    local_.ForgetUnused();
    if (!charge.ok()) charge = GraphCharge::Take(graphs_, bytes);
  }
  CARILLON_RETURN_IF_ERROR(charge.status());
  CARILLON_ASSIGN_OR_RETURN(auto run, local_.Prepare(feeds, fetches, targets));
  prepared_.emplace(std::move(names), PreparedState{*std::move(charge), run});
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

std::shared_ptr<PreparedRun> MasterSession::FindQuick(const ByName& names, AsyncStep* step) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  const auto found = prepared_.find(names);
  if (found == prepared_.end() || !LocalSession::IsQuick(*found->second.run, kHandOver, step))
    return nullptr;
  return found->second.run;
}

void MasterSession::RunStep(std::shared_ptr<StepCall> call, BackgroundThreads* unless_quick) {
  const StepRequest& request = call->request;
  const auto hand_over = [&] {
    calls_.Start(*unless_quick, [self = shared_from_this(), call]() mutable {
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
  std::shared_ptr<PreparedRun> quick;
  if (unless_quick != nullptr) {
    quick = FindQuick(names, &step);
    if (quick == nullptr) return hand_over();
  }
  Begin();
  call->session_ = shared_from_this();
  step.options = OptionsOf(request.options);
  step.done = [this, call](Status status) {
    StepReply reply{.status = std::move(status)};
    if (reply.status.ok()) {
      reply.status = TryAddMetadata(call->step_, call->request.options, allocator().get(), &reply);
    }
    if (reply.status.ok()) {
      for (size_t i = 0; i < call->request.fetches.size(); ++i)
        reply.tensors.emplace_back(call->request.fetches[i], std::move(call->step_.fetches[i]));
    }
    End();
    const std::shared_ptr<MasterSession> session = std::move(call->session_);
    call->done(std::move(reply));
  };
  StatusOr<std::shared_ptr<PreparedRun>> run = std::move(quick);
  if (*run == nullptr) run = Prepare(std::move(names));
  Status status = run.ok() ? ResolveHandles(&step.feeds) : run.status();
  status.Update(CheckOptions(request.options));
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
  CARILLON_ASSIGN_OR_RETURN(
      state->charge,
      GraphCharge::Take(graphs_, kSignatureBytes + BytesOf(feeds) + BytesOf(fetches) +
                                     kValueBytes * static_cast<int64_t>(targets.size())));
  CARILLON_ASSIGN_OR_RETURN(state->step,
                            local_.StartInParts(feed_points, fetch_points, target_nodes));
  for (size_t i = 0; i < feeds.size(); ++i) state->feeds.emplace(feeds[i], i);
  for (size_t i = 0; i < fetches.size(); ++i) state->fetches.emplace(fetches[i], i);
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
  const auto position = [&](const std::unordered_map<std::string, size_t>& names,
                            const std::string& name, size_t* place) {
    const auto found = names.find(name);
    if (found == names.end()) {
      reply->status = InvalidArgument("'", name, "' was not named when the partial run was set up");
      return false;
    }
    *place = found->second;
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
  CARILLON_RETURN_IF_ERROR(CheckOptions(options.run_options()));
  ByName names{{options.feed().begin(), options.feed().end()},
               {options.fetch().begin(), options.fetch().end()},
               {options.target().begin(), options.target().end()}};
  CARILLON_ASSIGN_OR_RETURN(auto run, Prepare(std::move(names)));
  // The names may be forgotten, but not the values that they stand for.
  const int64_t bytes =
      kSignatureBytes + static_cast<int64_t>(options.run_options().ByteSizeLong()) +
      kValueBytes * (options.feed_size() + options.fetch_size() + options.target_size());
  std::lock_guard lock(mutex_);
  CARILLON_ASSIGN_OR_RETURN(GraphCharge charge, GraphCharge::Take(graphs_, bytes));
  const int64_t handle = next_handle_++;
  callables_.emplace(handle,
                     CallableState{std::move(charge), std::move(run), options.run_options()});
  return handle;
}

void MasterSession::RunCallable(std::shared_ptr<CallableCall> call,
                                BackgroundThreads* unless_quick) {
  const auto hand_over = [&] {
    calls_.Start(*unless_quick, [self = shared_from_this(), call]() mutable {
      self->RunCallable(std::move(call), nullptr);
    });
  };
  std::shared_ptr<PreparedRun> run;
  tensorflow::RunOptions options;
  {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (unless_quick == nullptr) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return hand_over();
    }
    const auto found = callables_.find(call->request.handle);
    if (found != callables_.end()) {
      run = found->second.run;
      options = found->second.options;
    }
  }
  if (run == nullptr) {
    return call->done(InvalidArgument("there is no callable ", call->request.handle,
                                      ": it was never made, or it was released"),
                      {});
  }
  AsyncStep& step = call->step_;
  if (step.feeds.empty()) step.feeds = std::move(call->request.feeds);
  if (unless_quick != nullptr && !LocalSession::IsQuick(*run, kHandOver, &step)) return hand_over();
  Begin();
  call->session_ = shared_from_this();
  step.options = OptionsOf(options);
  step.done = [this, call, options = std::move(options)](Status status) {
    CallableReply reply;
    if (status.ok()) status = TryAddMetadata(call->step_, options, allocator().get(), &reply);
    if (status.ok()) reply.fetches = std::move(call->step_.fetches);
    End();
    const std::shared_ptr<MasterSession> session = std::move(call->session_);
    call->done(std::move(status), std::move(reply));
  };
  if (const Status status = ResolveHandles(&step.feeds); !status.ok())
    return std::exchange(step.done, nullptr)(status);
  local_.RunAsync(*run, &step);
}

Status MasterSession::ReleaseCallable(int64_t handle) {
  std::lock_guard lock(mutex_);
  const auto found = callables_.find(handle);
  if (found == callables_.end())
    return InvalidArgument("there is no callable ", handle, ": it was never made, or was released");
  callables_.erase(found);
  return absl::OkStatus();
}

void MasterSession::Close() {
  local_.Close();
  LetGo();
}

void MasterSession::Stop(const Status& reason) {
  local_.Stop(reason);
  LetGo();
}

void MasterSession::LetGo() {
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
