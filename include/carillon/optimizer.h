// Optimizers: from a loss to the op that makes the variables better.
//
//   Operation train = Adam(1e-3).Minimize(loss, GlobalStep(g));
//
// A learning rate is a number or an Output, as the schedules of carillon/schedules.h give. What an
// optimizer keeps between steps (its slots) lives in variables that are named as TensorFlow names
// them: "dense/kernel/Momentum", "dense/kernel/Adam", "dense/kernel/Adam_1", "beta1_power".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/gradients.h"
#include "carillon/graph.h"
#include "carillon/op_builder.h"
#include "carillon/variable.h"

namespace carillon {

// One variable and the gradient of the loss with respect to it.
struct GradientAndVariable {
  Gradient gradient;
  Variable variable;
};

// How an optimizer changes variables. Subclass it to write one of your own, and hand it to
// Optimizer. Update ops are made under a scope of their own, placed with the variable.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  // Called once for all variables that are about to be updated, with MakeSlot.
  virtual void CreateSlots(const std::vector<Variable>& variables);
  // Called next; makes what all updates share, with Shared.
  virtual void Prepare(Graph& graph) = 0;
  virtual Operation ApplyDense(const Output& gradient, const Variable& variable) = 0;
  // Rows `values` of the gradient, at `indices` that do not repeat.
  virtual Operation ApplySparse(const Output& values, const Output& indices,
                                const Variable& variable) = 0;
  // Indices may repeat. By default rows of the same index are added up for ApplySparse.
  virtual Operation ApplySlices(const IndexedSlices& gradient, const Variable& variable);
  // Called last, under control dependencies on all updates; what it makes runs after them.
  virtual std::vector<Operation> Finish();

  // Throws Error(NotFound) when there is no such slot.
  Variable slot(const Variable& variable, const std::string& name) const;
  // All that is kept between steps, in the order in which it was made.
  const std::vector<Variable>& state() const { return state_; }

 protected:
  // `name` goes into the names of slots.
  explicit UpdateRule(std::string name) : name_(std::move(name)) {}

  // A variable shaped like `variable`, every element `value` at first, unless it has that slot.
  void MakeSlot(const Variable& variable, const std::string& name, float value = 0);
  // A scalar that belongs to no variable; placed with the first of `variables` by name.
  Variable MakeScalar(const std::vector<Variable>& variables, const Input& value,
                      const std::string& name);
  // A number as an op that all updates share.
  Output Shared(Graph& graph, const Input& value, const std::string& name) const;
  // `value` in the dtype of `variable`.
  static Output As(const Variable& variable, const Output& value);
  // An op of type `op` (for a resource variable "Resource" + `op`) whose first arguments are the
  // variable and its slots, in the order of `slots`.
  OpBuilder Update(const std::string& op, const Variable& variable,
                   const std::vector<std::string>& slots = {}) const;

 private:
  std::string name_;
  std::map<std::pair<Node*, std::string>, Variable> slots_;
  std::vector<Variable> state_;
};

struct MinimizeOptions {
  std::vector<Variable> variables;  // to train; empty: all that are trainable
  // Run the ops of the collection "update_ops" (the moving averages of batch normalisation) with
  // each step.
  bool update_ops = true;
  std::string name;  // of the resulting op; default: the optimizer's
};

// A value: copies share their slots.
class Optimizer {
 public:
  Optimizer(std::string name, std::shared_ptr<UpdateRule> rule)
      : name_(std::move(name)), rule_(std::move(rule)) {}

  // An op that computes the gradients of `loss`, applies them, and adds 1 to `global_step` if there
  // is one. Throws Error(InvalidArgument) when no variable has a gradient.
  Operation Minimize(const Output& loss, const std::optional<Variable>& global_step = {},
                     const MinimizeOptions& options = {});

  // The two halves of Minimize, for those who change the gradients in between. Variables that
  // `loss` does not depend on have empty gradients, and are left alone.
  std::vector<GradientAndVariable> ComputeGradients(const Output& loss,
                                                    const std::vector<Variable>& variables = {});
  // `also` run in the same step.
  Operation ApplyGradients(const std::vector<GradientAndVariable>& gradients,
                           const std::optional<Variable>& global_step = {},
                           const std::vector<Operation>& also = {}, const std::string& name = "");

  // What the optimizer keeps of `variable` under a name of its own ("momentum", "m", "v", …).
  // Throws Error(NotFound) when there is no such slot.
  Variable slot(const Variable& variable, const std::string& name) const {
    return rule_->slot(variable, name);
  }
  const std::vector<Variable>& state() const { return rule_->state(); }

 private:
  std::string name_;
  std::shared_ptr<UpdateRule> rule_;
};

// variable -= learning_rate * gradient
class GradientDescent : public Optimizer {
 public:
  explicit GradientDescent(const Input& learning_rate);
};

// momentum_slot = momentum * momentum_slot + gradient; variable -= learning_rate * momentum_slot
class Momentum : public Optimizer {
 public:
  Momentum(const Input& learning_rate, const Input& momentum, bool nesterov = false);
};

// Steps shrink with the sum of squares of all past gradients.
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(const Input& learning_rate, float initial_accumulator = 0.1f);
};

struct AdadeltaOptions {
  float rho = 0.95f;
  float epsilon = 1e-8f;
};
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(const Input& learning_rate = 0.001, const AdadeltaOptions& options = {});
};

struct RmsPropOptions {
  float decay = 0.9f;
  float momentum = 0;
  float epsilon = 1e-10f;
  bool centered = false;  // divide by an estimate of the variance, not of the square
};
class RmsProp : public Optimizer {
 public:
  explicit RmsProp(const Input& learning_rate, const RmsPropOptions& options = {});
};

struct AdamOptions {
  Input beta1 = 0.9;
  Input beta2 = 0.999;
  Input epsilon = 1e-8;
};
// Sparse gradients decay the moments of all rows, as dense ones do.
class Adam : public Optimizer {
 public:
  explicit Adam(const Input& learning_rate = 0.001, const AdamOptions& options = {});
};

struct AdamWOptions {
  Input weight_decay = 0.004;
  Input beta1 = 0.9;
  Input beta2 = 0.999;
  Input epsilon = 1e-8;
  // The variables that decay; default: all.
  std::function<bool(const Variable&)> decays;
};
// Adam, and before each update variable -= learning_rate * weight_decay * variable.
class AdamW : public Optimizer {
 public:
  explicit AdamW(const Input& learning_rate = 0.001, const AdamWOptions& options = {});
};

struct FtrlOptions {
  float learning_rate_power = -0.5f;
  float initial_accumulator = 0.1f;
  float l1 = 0;
  float l2 = 0;
  float l2_shrinkage = 0;
};
class Ftrl : public Optimizer {
 public:
  explicit Ftrl(const Input& learning_rate, const FtrlOptions& options = {});
};

}  // namespace carillon
