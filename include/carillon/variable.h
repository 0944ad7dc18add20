// Variable: a value that lives from step to step, such as a weight.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Makes the initial value of a variable.
using Initializer = std::function<Output(Graph& g, const Shape& shape, DType dtype)>;

struct VariableOptions {
  // Behaviour.
  bool trainable = true;  // in TrainableVariables(), which optimizers take by default
  bool local = false;     // of this process: in LocalVariables() rather than GlobalVariables(), so
                          // not in checkpoints
  bool use_resource = true;  // false: a reference variable, as TensorFlow 1 made them
  std::string container;     // where it lives; empty: the default container
};

//   Variable w(g, "weights", Mul(RandomStandardNormal(g, {784, 10}), 0.1));
//   Variable b(g, "bias", {10}, initializer);
//   Output y = Add(MatMul(x, w), b);
//
// Belongs to the graph: the object is a light reference, valid as long as the graph, and copies are
// the same variable. Its value belongs to the session's (or the server's) resources; it has none
// until the initializer has run, and reading it before is Error(FailedPrecondition). Inside a
// conditional or loop too, a variable is made outside of it, once.
class Variable {
 public:
  // The initial value gives dtype and shape. It is computed anew whenever the initializer runs.
  // Literals with a fraction become float.
  Variable(Graph& g, std::string_view name, const Input& initial_value,
           const VariableOptions& options = {});
  Variable(Graph& g, std::string_view name, const Shape& shape, const Initializer& initializer,
           DType dtype = kFloat, const VariableOptions& options = {});
  // The variable that a handle or reference stands for, say one of an imported graph. Throws
  // Error(InvalidArgument) when it stands for none.
  explicit Variable(const Output& handle);

  const std::string& name() const;
  DType dtype() const;
  PartialShape shape() const;
  Graph& graph() const { return handle_.graph(); }
  // What ops that change the variable take (carillon/ops/state.h), and what Gradients() takes for
  // the gradient by it.
  const Output& handle() const { return handle_; }

  // The value, read when the new op runs: after the control dependencies that are open here.
  Output read() const;
  operator Output() const { return read(); }  // NOLINT: a variable is used like its value
  operator Input() const { return read(); }   // NOLINT
  // Rows `indices` of the value. Its gradient is of these rows alone.
  Output Gather(const Input& indices) const;
  // A bool.
  Output IsInitialized() const;

  Operation Assign(const Input& value) const;
  Operation AssignAdd(const Input& value) const;
  Operation AssignSub(const Input& value) const;

  // Sets the initial value. Throws Error(NotFound) for a variable of an imported graph that has no
  // node called "<name>/Assign".
  Operation initializer() const;
  // What the initializer sets.
  Output initial_value() const;

  bool operator==(const Variable&) const = default;

 private:
  void Make(Graph& g, std::string_view name, DType dtype, const PartialShape& shape,
            const VariableOptions& options);
  void AddInitializer(const Input& initial_value) const;
  Output handle_;
};

// Those made so far, in the order of their making.
std::vector<Variable> GlobalVariables(const Graph& g);
std::vector<Variable> LocalVariables(const Graph& g);
std::vector<Variable> TrainableVariables(const Graph& g);

// An op that gives them their initial values. It knows the variables that are there when it is
// made: make it last.
Operation GlobalVariablesInitializer(Graph& g);
Operation LocalVariablesInitializer(Graph& g);
Operation VariablesInitializer(Graph& g, const std::vector<Variable>& variables,
                               std::string_view name = "init");

// The count of training steps, an int64 scalar called "global_step": made by the first call.
Variable GlobalStep(Graph& g);

}  // namespace carillon
