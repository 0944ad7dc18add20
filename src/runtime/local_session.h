// LocalSession: the steps of one graph, their signatures, deadlines and ends. They run on a device
// of this process, unless whoever made the session makes programs that run elsewhere, too. The
// public Session and the server's sessions are thin over it.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "carillon/session.h"
#include "runtime/cancellation.h"
#include "runtime/deadline.h"
#include "runtime/executable.h"
#include "runtime/resource_store.h"
#include "runtime/session_backend.h"
#include "runtime/step_in_parts.h"
#include "tensor/memory_charge.h"

namespace carillon {

class LocalSession;

// One (feeds, fetches, targets) of a session. Holds a StepProgram for each combination of feed
// shapes that came up; when there are many, one for all.
class PreparedRun final : public StepRunner {
 public:
  PreparedRun(LocalSession* session, std::vector<Endpoint> feeds, std::vector<Endpoint> fetches,
              std::vector<Node*> targets)
      : session_(session),
        feeds_(std::move(feeds)),
        fetches_(std::move(fetches)),
        targets_(std::move(targets)) {}
  Status Run(std::span<const Tensor> feeds, const RunOptions& options, std::vector<Tensor>* fetches,
             RunMetadata* metadata) override;
  const std::vector<Endpoint>& feeds() const { return feeds_; }
  const std::vector<Endpoint>& fetches() const { return fetches_; }

 private:
  friend class LocalSession;
  struct Specialised {
    std::vector<Shape> shapes;  // empty for the one that takes any
    bool any_shape = false;
    std::shared_ptr<StepProgram> program;
  };
  // Under mutex_; null when there is none.
  const Specialised* FindFor(std::span<const Tensor> feeds) const;

  LocalSession* const session_;
  const std::vector<Endpoint> feeds_;
  const std::vector<Endpoint> fetches_;
  const std::vector<Node*> targets_;
  std::mutex mutex_;
  std::vector<Specialised> programs_;  // under mutex_
};

// One step that runs while its caller does something else. Made by the caller, used once, and valid
// until `done` has been called: exactly once, from any thread.
class AsyncStep {
 public:
  // Given.
  std::vector<Tensor> feeds;
  RunOptions options;
  std::function<void(Status)> done;
  // To be cancelled by anybody at any time.
  CancellationSource cancellation;
  // Results, once `done` is called. The metadata counts against the device's memory until the step
  // goes: a step whose metadata finds no room is ResourceExhausted.
  std::vector<Tensor> fetches;
  RunMetadata metadata;
  // What ran; null when the step failed before.
  const StepProgram* program() const { return program_.get(); }
  const StepTrace& trace() const { return trace_; }

 private:
  friend class LocalSession;
  std::shared_ptr<StepProgram> program_;
  StepArgs args_;
  StepTrace trace_;
  std::optional<MemoryCharge> metadata_charge_;
  uint64_t deadline_ = 0;
  std::chrono::steady_clock::time_point start_;
};

// Specialises a signature for wherever its nodes belong.
using ProgramMaker = std::function<StatusOr<std::shared_ptr<StepProgram>>(
    const NodeGraph& graph, const Signature& signature, const SpecializeOptions& options)>;

// Thread-safe. The graph may grow between runs.
class LocalSession {
 public:
  // `graph` and `resources` must outlive the session. Without `maker` everything runs on `device`.
  LocalSession(const NodeGraph& graph, std::shared_ptr<Device> device, ResourceStore* resources,
               const SessionOptions& options, ProgramMaker maker = nullptr);
  ~LocalSession();

  // Found or made; the same lists give the same object. InvalidArgument for a feed given twice.
  StatusOr<std::shared_ptr<PreparedRun>> Prepare(const std::vector<Endpoint>& feeds,
                                                 const std::vector<Endpoint>& fetches,
                                                 const std::vector<Node*>& targets);
  // Lets go of what is prepared and held by nobody else.
  void ForgetUnused();
  Status Run(PreparedRun& run, std::span<const Tensor> feeds, const RunOptions& options,
             std::vector<Tensor>* fetches, RunMetadata* metadata);

  // Starts a step and returns, before it is over when something in it waits. The session must live
  // until step->done was called, `run` until this returns.
  void RunAsync(PreparedRun& run, AsyncStep* step);

  // Whether a step like this took less than `limit` the last time, and does the same whatever the
  // values are that it is fed. Waits for nobody: false when it would have to. When true, RunAsync
  // of the step with the same `run` and feeds does not wait, either: the step has its program.
  static bool IsQuick(PreparedRun& run, std::chrono::nanoseconds limit, AsyncStep* step);

  // Starts a step whose feeds and fetches are exchanged in parts. It must not outlive the session.
  StatusOr<std::unique_ptr<StepInParts>> StartInParts(const std::vector<Endpoint>& feeds,
                                                      const std::vector<Endpoint>& fetches,
                                                      const std::vector<Node*>& targets);

  // Runs `change`, which may add to the graph, while no signature is being prepared from it.
  Status ChangeGraph(absl::FunctionRef<Status()> change);

  // Cancels what runs and waits for it; later runs are FailedPrecondition.
  void Close();
  // The same because whoever has the session stops: all runs end with `reason`.
  void Stop(const Status& reason);
  const Device& device() const { return *device_; }
  ResourceStore& state() { return state_; }

 private:
  // More feed shapes than this and a signature gets one program for all shapes.
  static constexpr size_t kMaxSpecialisations = 8;

  StatusOr<std::shared_ptr<StepProgram>> Find(PreparedRun& run, std::span<const Tensor> feeds,
                                              const CancellationSource& cancellation);
  // Ends early once it is cancelled.
  StatusOr<std::shared_ptr<StepProgram>> Make(const Signature& signature,
                                              const SpecializeOptions& options,
                                              const CancellationSource& cancellation);
  SpecializeOptions MakeSpecializeOptions();
  friend class StepInParts;
  void End(const Status& running, const Status& later);
  Status Enter(CancellationSource* step);
  void Leave(CancellationSource* step);
  // What every run begins and ends with. 0: there is no deadline.
  uint64_t StartDeadline(const RunOptions& options, CancellationSource* step);
  StepArgs MakeArgs(std::span<const Tensor> feeds, CancellationSource* step);
  void FillMetadata(const StepTrace& trace, const StepProgram& program,
                    RunMetadata* metadata) const;

  const NodeGraph& graph_;
  const std::shared_ptr<Device> device_;
  ResourceStore* const resources_;
  const SessionOptions options_;
  const ProgramMaker maker_;
  int threads_;
  MapResourceStore state_;  // what stateful kernels keep between steps
  DeadlineTimer timer_;
  std::atomic<int64_t> next_step_{1};
  std::atomic<int> next_dump_{1};

  std::shared_mutex graph_mutex_;  // shared while graph_ is read
  std::mutex mutex_;
  std::condition_variable step_left_;
  std::map<std::vector<int64_t>, std::shared_ptr<PreparedRun>> prepared_;  // under mutex_
  std::vector<CancellationSource*> running_;                               // under mutex_
  Status end_;  // of runs that come too late; OK while it is open; under mutex_
};

}  // namespace carillon
