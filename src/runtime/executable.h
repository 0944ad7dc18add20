// Executable: a signature of a graph, specialised, lowered and ready to run.
#pragma once

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <string>

#include "graph/passes/pass.h"
#include "runtime/device.h"
#include "runtime/executor.h"
#include "runtime/lowering.h"
#include "runtime/partitioner.h"

namespace carillon {

struct SpecializeOptions {
  LoweringOptions lowering;
  bool optimize = true;
  bool allow_soft_placement = false;
  bool in_parts = false;    // feeds and fetches are exchanged through the step's rendezvous
  std::string dump_folder;  // for the graph after each pass; empty: no dump
  // Of functions that kernels call: where they find resources by name, and how many functions stand
  // around this one.
  ResourceStore* resources = nullptr;
  int function_depth = 0;
};

class GraphDump;

// What the signature needs, placed on `devices` (as Place does) and cut into a part for each, to be
// compiled where it runs. `host` computes constants. Errors are the user's graph's, and name the
// node.
StatusOr<PartitionedGraph> SpecializeInParts(const NodeGraph& graph, const Signature& signature,
                                             const std::vector<std::string>& devices,
                                             const Device& host, const SpecializeOptions& options);

class Executable {
 public:
  // Prunes, infers, folds, merges, fuses, lowers: all for one device.
  static StatusOr<std::unique_ptr<Executable>> Make(const NodeGraph& graph,
                                                    const Signature& signature,
                                                    std::shared_ptr<Device> device,
                                                    ResourceStore* session_state,
                                                    const SpecializeOptions& options);
  // The same from one part of a graph that was specialized for several devices.
  static StatusOr<std::unique_ptr<Executable>> FromPart(std::unique_ptr<NodeGraph> part,
                                                        std::shared_ptr<Device> device,
                                                        ResourceStore* session_state,
                                                        const SpecializeOptions& options);
  Status Run(const StepArgs& args, std::vector<Tensor>* fetches) {
    return executor_->Run(args, fetches);
  }
  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Executor::Done done) {
    executor_->RunAsync(args, fetches, std::move(done));
  }
  const Program& program() const { return *program_; }

  // Whether a step does the same, and takes about as long, whatever its feeds hold: no loops, no
  // waiting, all sizes known.
  bool has_fixed_work() const { return has_fixed_work_; }
  // How long RunAsync took the last time; the longest time there is before the first. Thread-safe.
  std::chrono::nanoseconds last_run() const {
    return std::chrono::nanoseconds(last_run_.load(std::memory_order_relaxed));
  }
  void set_last_run(std::chrono::nanoseconds time) {
    last_run_.store(time.count(), std::memory_order_relaxed);
  }

 private:
  Executable() = default;
  static StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<NodeGraph> work,
                                                       std::shared_ptr<Device> device,
                                                       ResourceStore* session_state,
                                                       const SpecializeOptions& options,
                                                       GraphDump& dump);
  std::shared_ptr<Device> device_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Executor> executor_;
  bool has_fixed_work_ = false;
  std::atomic<int64_t> last_run_{std::numeric_limits<int64_t>::max()};
};

}  // namespace carillon
