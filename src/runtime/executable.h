// Executable: a signature of a graph, specialised, lowered and ready to run.
#pragma once

#include <memory>
#include <string>

#include "graph/passes/pass.h"
#include "runtime/device.h"
#include "runtime/executor.h"
#include "runtime/lowering.h"
#include "runtime/partitioner.h"
#include "runtime/step_program.h"

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

class Executable final : public StepProgram {
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
  Status Run(const StepArgs& args, std::vector<Tensor>* fetches) override {
    return executor_->Run(args, fetches);
  }
  void RunAsync(const StepArgs& args, std::vector<Tensor>* fetches, Executor::Done done) override {
    executor_->RunAsync(args, fetches, std::move(done));
  }
  bool has_fixed_work() const override { return has_fixed_work_; }
  std::vector<const NodeGraph*> graphs() const override { return {program_->graph.get()}; }
  const Program* local_program() const override { return program_.get(); }
  const Program& program() const { return *program_; }
  const Device& device() const { return *device_; }

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
};

}  // namespace carillon
