// Conditionals, loops, ordering, assertions and printing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// What a branch of Cond results in. A branch that is there for its effects may return the operation
// that has them; it counts as one (meaningless) output.
class BranchResult {
 public:
  BranchResult(const Output& output) : outputs_{output} {}                     // NOLINT
  BranchResult(std::vector<Output> outputs) : outputs_(std::move(outputs)) {}  // NOLINT
  BranchResult(std::initializer_list<Output> outputs) : outputs_(outputs) {}   // NOLINT
  BranchResult(const Operation& op) : op_(op) {}                               // NOLINT
  const std::vector<Output>& outputs() const { return outputs_; }
  const Operation& op() const { return op_; }

 private:
  std::vector<Output> outputs_;
  Operation op_;
};

// The outputs of true_fn() when `pred`, a bool scalar, is true, else those of false_fn(). Both
// functions are called once, to build their part of the graph; in a step only the ops of the branch
// that is taken run. The branches must agree in the number and the dtypes of their outputs.
//
// Values that a branch takes from outside become available to it when they are computed outside,
// whichever branch is taken: put into the branch what must not run otherwise.
std::vector<Output> Cond(const Output& pred, const std::function<BranchResult()>& true_fn,
                         const std::function<BranchResult()>& false_fn,
                         const std::string& name = "cond");

struct WhileOptions {
  int parallel_iterations = 10;  // how many may run at once
  // One for each loop variable: the shape that holds in every iteration. Empty: the shapes with
  // which the variables enter.
  std::vector<PartialShape> shape_invariants;
  std::string name = "while";
};

// Repeats variables = body_fn(variables) while cond_fn(variables), a bool scalar, is true; gives
// their last values. Both functions are called once, to build their part of the graph, and may use
// values from outside. The body gives one value for each variable, of the same dtype and of a shape
// that fits the invariant: Error(InvalidArgument) otherwise.
using LoopVariables = std::vector<Output>;
std::vector<Output> WhileLoop(Graph& graph, const std::vector<Input>& initial,
                              const std::function<Output(const LoopVariables&)>& cond_fn,
                              const std::function<LoopVariables(const LoopVariables&)>& body_fn,
                              const WhileOptions& options = {});

// Does nothing, after what it depends on.
Operation NoOp(Graph& graph, const std::string& name = "");
// Runs when all of `ops` have run.
Operation Group(Graph& graph, const std::vector<Operation>& ops, const std::string& name = "");
// `value`, available when all of `before` have run too.
Output WithDependencies(const std::vector<Operation>& before, const Output& value);
// Runs even when what it depends on does not (because a branch was not taken).
Operation ControlTrigger(Graph& graph, const std::vector<Operation>& before);

// Passes `data` on to one of two outputs; what depends on the other does not run. The building
// block of Cond.
struct SwitchOutputs {
  Output if_false;
  Output if_true;
};
SwitchOutputs Switch(const Input& data, const Output& pred);
// The input that arrives, when all but one come from branches not taken, and its position.
struct MergeOutputs {
  Output output;
  Output value_index;
};
MergeOutputs Merge(const std::vector<Output>& inputs);

// Fails the step with InvalidArgument when `condition`, a bool scalar, is false; the message shows
// the first `summarize` elements of each of `data`.
Operation Assert(const Output& condition, const std::vector<Input>& data, int64_t summarize = 3);
// Fails the step with Aborted.
Operation Abort(Graph& graph, const std::string& message);

// `input`; each step writes `message` and the first elements of `data` to standard error.
struct PrintOptions {
  std::string message;
  int64_t first_n = -1;  // print only so many times; -1: always
  int64_t summarize = 3;
};
Output Print(const Input& input, const std::vector<Input>& data, const PrintOptions& options = {});
// Writes a string scalar to `stream`: stdout, stderr, log(info), log(warning), log(error) or
// file://PATH.
Operation PrintV2(const Input& text, const std::string& stream = "stderr",
                  const std::string& end = "\n");
// `text` with its n-th placeholder replaced by the elements of the n-th input; of long dimensions
// `summarize` elements from each end.
Output StringFormat(Graph& graph, const std::vector<Input>& inputs, const std::string& text,
                    const std::string& placeholder = "{}", int64_t summarize = 3);

}  // namespace carillon
