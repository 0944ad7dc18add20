// From a specialised graph to a Program: chooses kernels and layouts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/device.h"
#include "runtime/program.h"

namespace carillon {

struct LoweringOptions {
  KernelOptions kernels;
  bool plan_memory = true;
  std::function<void(const std::string&)> log_choice;  // hears of every kernel choice
  FunctionInstantiator* functions = nullptr;           // for kernels that call functions
};

// `graph` has _Arg, _Retval and _Targets nodes and no reference edges into value inputs. Kernels
// are chosen in topological order, each knowing the layouts in which its inputs come; where a
// kernel wants another layout, one reorder is inserted and shared by all who want the same.
StatusOr<std::unique_ptr<Program>> Lower(std::unique_ptr<NodeGraph> graph, const Device& device,
                                         ResourceStore* session_state,
                                         const LoweringOptions& options);

}  // namespace carillon
