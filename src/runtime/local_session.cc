#include "runtime/local_session.h"

#include <algorithm>
#include <set>

#include "base/cores.h"
#include "base/logging.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "base/throw.h"
#include "base/work_scope.h"
#include "graph/node_mark.h"
#include "runtime/feeds.h"

namespace carillon {

LocalSession::LocalSession(const NodeGraph& graph, std::shared_ptr<Device> device,
                           ResourceStore* resources, const SessionOptions& options,
                           ProgramMaker maker)
    : graph_(graph),
      device_(std::move(device)),
      resources_(resources),
      options_(options),
      maker_(std::move(maker)),
      threads_(options.threads > 0 ? options.threads : AvailableCores()) {}

LocalSession::~LocalSession() { Close(); }

Status PreparedRun::Run(std::span<const Tensor> feeds, const RunOptions& options,
                        std::vector<Tensor>* fetches, RunMetadata* metadata) {
  return session_->Run(*this, feeds, options, fetches, metadata);
}

StatusOr<std::shared_ptr<PreparedRun>> LocalSession::Prepare(const std::vector<Endpoint>& feeds,
                                                             const std::vector<Endpoint>& fetches,
                                                             const std::vector<Node*>& targets) {
  std::vector<int64_t> key;
  key.reserve(2 * (feeds.size() + fetches.size()) + targets.size() + 2);
  for (const Endpoint& feed : feeds) key.insert(key.end(), {feed.node->id(), feed.index});
  key.push_back(-1);
  for (const Endpoint& fetch : fetches) key.insert(key.end(), {fetch.node->id(), fetch.index});
  key.push_back(-1);
  for (const Node* target : targets) key.push_back(target->id());
  std::lock_guard lock(mutex_);
  if (const auto found = prepared_.find(key); found != prepared_.end()) return found->second;
  std::set<std::pair<int, int>> fed;  // a client may feed a great many: not each with each
  for (const Endpoint& feed : feeds) {
    if (!fed.emplace(feed.node->id(), feed.index).second)
      return InvalidArgument("'", feed.node->name(), ":", feed.index, "' is fed twice");
  }
  return prepared_
      .emplace(std::move(key), std::make_shared<PreparedRun>(this, feeds, fetches, targets))
      .first->second;
}

void LocalSession::ForgetUnused() {
  std::lock_guard lock(mutex_);
  std::erase_if(prepared_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

const PreparedRun::Specialised* PreparedRun::FindFor(std::span<const Tensor> feeds) const {
  for (const Specialised& entry : programs_) {
    if (entry.any_shape ||
        std::ranges::equal(entry.shapes, feeds, [](const Shape& shape, const Tensor& feed) {
          return shape == feed.shape();
        }))
      return &entry;
  }
  return nullptr;
}

StatusOr<std::shared_ptr<StepProgram>> LocalSession::Make(const Signature& signature,
                                                          const SpecializeOptions& options,
                                                          const CancellationSource& cancellation) {
  std::shared_lock graph_lock(graph_mutex_);
  SetKernelThreads(threads_);  // algorithms are timed as they will run
  // A graph from outside may ask for more memory than there is, and for more time.
  StatusOr<std::shared_ptr<StepProgram>> program = nullptr;
  const Status thrown = CatchAsStatus([&] {
    const WorkScope scope(nullptr, &cancellation);
    program = maker_ != nullptr ? maker_(graph_, signature, options)
                                : Executable::Make(graph_, signature, device_, &state_, options);
  });
  if (thrown.ok() && program.ok()) return program;
  if (cancellation.IsCancelled()) return cancellation.reason();
  if (thrown.ok()) return program.status();
  return Status(thrown.code(), StrCat("while the step was prepared: ", thrown.message()));
}

StatusOr<std::shared_ptr<StepProgram>> LocalSession::Find(PreparedRun& run,
                                                          std::span<const Tensor> feeds,
                                                          const CancellationSource& cancellation) {
  std::lock_guard lock(run.mutex_);  // held while a program is made, so that it is made once
  if (const PreparedRun::Specialised* entry = run.FindFor(feeds)) return entry->program;
  const bool any_shape = run.programs_.size() >= kMaxSpecialisations;
  Signature signature{.feeds = run.feeds_, .fetches = run.fetches_, .targets = run.targets_};
  PreparedRun::Specialised made{.any_shape = any_shape};
  for (size_t i = 0; i < feeds.size(); ++i) {
    made.shapes.push_back(feeds[i].shape());
    const Endpoint& to = run.feeds_[i];
    signature.feed_shapes.push_back(any_shape ? to.node->output(to.index).shape
                                              : PartialShape(feeds[i].shape()));
  }
  CARILLON_ASSIGN_OR_RETURN(made.program, Make(signature, MakeSpecializeOptions(), cancellation));
  run.programs_.push_back(made);
  return made.program;
}

SpecializeOptions LocalSession::MakeSpecializeOptions() {
  SpecializeOptions options{.optimize = options_.optimize,
                            .allow_soft_placement = options_.allow_soft_placement,
                            .resources = resources_};
  if (!options_.dump_graphs.empty())
    options.dump_folder = StrCat(options_.dump_graphs, "/", next_dump_.fetch_add(1));
  options.lowering.kernels = {.threads = threads_,
                              .exact = options_.exact,
                              .measure = options_.measure,
                              .reference = options_.reference_kernels};
  if (options_.log_kernels)
    options.lowering.log_choice = [](const std::string& choice) { LogInfo("kernel for ", choice); };
  return options;
}

Status LocalSession::Enter(CancellationSource* step) {
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(end_);
  running_.push_back(step);
  return absl::OkStatus();
}

void LocalSession::Leave(CancellationSource* step) {
  std::lock_guard lock(mutex_);
  std::erase(running_, step);
  step_left_.notify_all();
}

uint64_t LocalSession::StartDeadline(const RunOptions& options, CancellationSource* step) {
  if (options.timeout.count() <= 0) return 0;
  return timer_.Add(
      DeadlineTimer::Clock::now() + options.timeout, [step, timeout = options.timeout] {
        step->Cancel(absl::DeadlineExceededError(
            StrCat("the step did not end within its timeout of ", timeout.count(), " ms")));
      });
}

StepArgs LocalSession::MakeArgs(std::span<const Tensor> feeds, CancellationSource* step) {
  return {.step_id = next_step_.fetch_add(1, std::memory_order_relaxed),
          .threads = threads_,
          .feeds = feeds,
          .resources = resources_,
          .cancellation = step};
}

void LocalSession::FillMetadata(const StepTrace& trace, const StepProgram& program,
                                RunMetadata* metadata) const {
  metadata->device = device_->name;
  if (program.local_program() == nullptr) return;
  for (const KernelTiming& timing : trace.kernels)
    metadata->nodes.push_back(ToNodeTiming(timing, *program.local_program(), device_->name));
}

Status LocalSession::Run(PreparedRun& run, std::span<const Tensor> feeds, const RunOptions& options,
                         std::vector<Tensor>* fetches, RunMetadata* metadata) {
  CARILLON_RETURN_IF_ERROR(CheckFeeds(run.feeds_, feeds));
  CancellationSource cancellation;
  CARILLON_RETURN_IF_ERROR(Enter(&cancellation));
  const uint64_t deadline = StartDeadline(options, &cancellation);
  StepTrace trace;
  const bool traced = options.trace && metadata != nullptr;
  const StatusOr<std::shared_ptr<StepProgram>> program = Find(run, feeds, cancellation);
  Status status = program.status();
  if (status.ok()) {
    StepArgs args = MakeArgs(feeds, &cancellation);
    if (traced) args.trace = &trace;
    status = (*program)->Run(args, fetches);
  }
  if (deadline != 0) timer_.Remove(deadline);
  Leave(&cancellation);
  if (traced && program.ok()) FillMetadata(trace, **program, metadata);
  return status;
}

bool LocalSession::IsQuick(PreparedRun& run, std::chrono::nanoseconds limit, AsyncStep* step) {
  const std::unique_lock lock(run.mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !CheckFeeds(run.feeds_, step->feeds).ok()) return false;
  const PreparedRun::Specialised* entry = run.FindFor(step->feeds);
  if (entry == nullptr || entry->any_shape || !entry->program->has_fixed_work() ||
      entry->program->last_run() >= limit)
    return false;
  step->program_ = entry->program;
  return true;
}

void LocalSession::RunAsync(PreparedRun& run, AsyncStep* step) {
  Status status = CheckFeeds(run.feeds_, step->feeds);
  if (status.ok()) status = Enter(&step->cancellation);
  // Taken out before it is called, here as below: it may hold the step itself.
  if (!status.ok()) return std::exchange(step->done, nullptr)(std::move(status));
  step->deadline_ = StartDeadline(step->options, &step->cancellation);
  const auto finish = [this, step](Status result) {
    if (step->program_ != nullptr)
      step->program_->set_last_run(std::chrono::steady_clock::now() - step->start_);
    if (step->deadline_ != 0) timer_.Remove(step->deadline_);
    if (step->options.trace && step->program_ != nullptr) {
      step->metadata_charge_.emplace(device_->allocator.get());
      const Status room = step->metadata_charge_->Add(step->trace_.bytes);
      if (room.ok()) FillMetadata(step->trace_, *step->program_, &step->metadata);
      result.Update(room);
    }
    Leave(&step->cancellation);
    // The caller may let go of the step, and of the session, inside.
    std::exchange(step->done, nullptr)(std::move(result));
  };
  if (step->program_ == nullptr) {
    StatusOr<std::shared_ptr<StepProgram>> program = Find(run, step->feeds, step->cancellation);
    if (!program.ok()) return finish(program.status());
    step->program_ = *std::move(program);
  }
  step->args_ = MakeArgs(step->feeds, &step->cancellation);
  if (step->options.trace) step->args_.trace = &step->trace_;
  const std::shared_ptr<StepProgram> running = step->program_;  // outlives the step
  step->start_ = std::chrono::steady_clock::now();
  running->RunAsync(step->args_, &step->fetches, finish);
}

Status LocalSession::ChangeGraph(absl::FunctionRef<Status()> change) {
  std::unique_lock lock(graph_mutex_);
  return change();
}

void LocalSession::Close() {
  End(absl::CancelledError("the session was closed while the step ran"),
      FailedPrecondition("the session has been closed"));
}

void LocalSession::Stop(const Status& reason) { End(reason, reason); }

void LocalSession::End(const Status& running, const Status& later) {
  std::unique_lock lock(mutex_);
  end_.Update(later);
  // Callbacks of a cancelled step may take their time, but the step itself cannot leave while we
  // hold the lock: its source stays valid.
  for (CancellationSource* step : running_) step->Cancel(running);
  step_left_.wait(lock, [&] { return running_.empty(); });
}

}  // namespace carillon
