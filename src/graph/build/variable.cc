#include "carillon/variable.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "carillon/ops/state.h"
#include "graph/build/variable_kind.h"
#include "graph/graph_state.h"

namespace carillon {
namespace {

// TensorFlow's names of these collections.
constexpr const char* kGlobalVariables = "variables";
constexpr const char* kLocalVariables = "local_variables";
constexpr const char* kTrainableVariables = "trainable_variables";
constexpr const char* kGlobalStep = "global_step";

// The node's name without the name scope that is open, from which scopes make the full name again.
std::string_view WithoutScope(const Graph& g, std::string_view name) {
  const std::string& scope = g.state().name_scope;
  return name.starts_with(scope) ? name.substr(scope.size()) : name;
}

// A literal as the op Const that a variable starts from.
Output ConstantOf(Graph& g, std::string_view name, const Input& literal) {
  Tensor value = literal.value();
  if (literal.is_weak() && value.dtype() == DType::kDouble) {
    Tensor narrow(kFloat, value.shape());
    for (int64_t i = 0; i < value.num_elements(); ++i) {
      narrow.mutable_data<float>()[i] = static_cast<float>(value.data<double>()[i]);
    }
    value = narrow;
  }
  return OpBuilder(g, "Const")
      .Name(StrCat(name, "/initial_value"))
      .Attr("value", value)
      .Attr("dtype", value.dtype());
}

// While it lives, ops are made outside of all conditionals, loops and control dependencies: where
// the initializer finds them.
class Outside {
 public:
  explicit Outside(Graph& g) : none_(g, nullptr), state_(g.state()), context_(state_.context) {
    state_.context = nullptr;
  }
  ~Outside() { state_.context = context_; }
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  const ControlDependencies none_;
  Graph::State& state_;
  ControlFlowContext* const context_;
};

std::vector<Variable> VariablesOf(const Graph& g, const char* collection) {
  std::vector<Variable> variables;
  for (const Output& handle : g.Collection(collection)) variables.emplace_back(handle);
  return variables;
}

}  // namespace

Variable::Variable(Graph& g, std::string_view name, const Input& initial_value,
                   const VariableOptions& options) {
  const Outside outside(g);
  if (!initial_value.valid()) {
    Throw(InvalidArgument("the initial value of variable '", name, "' refers to nothing"));
  }
  if (initial_value.is_output() &&
      g.state().context_of.contains(initial_value.output().node()->id())) {
    Throw(InvalidArgument("the initial value of variable '", name, "' is '",
                          initial_value.output().name(),
                          "', which a conditional or loop computes: give an Initializer instead"));
  }
  const Output initial =
      initial_value.is_output() ? initial_value.output() : ConstantOf(g, name, initial_value);
  Make(g, name, initial.dtype(), initial.shape(), options);
  AddInitializer(initial);
}

Variable::Variable(Graph& g, std::string_view name, const Shape& shape,
                   const Initializer& initializer, DType dtype, const VariableOptions& options) {
  const Outside outside(g);
  Make(g, name, dtype, shape, options);
  Output initial;
  {
    // The initial value is computed where the variable lives.
    const ColocateWith colocated(g, handle_.op());
    const NameScope scope(g, StrCat(WithoutScope(g, this->name()), "/Initializer"));
    initial = initializer(g, shape, dtype);
  }
  AddInitializer(initial);
}

Variable::Variable(const Output& handle) : handle_(handle) {
  VariableDType(handle);  // throws when it is no variable
}

void Variable::Make(Graph& g, std::string_view name, DType dtype, const PartialShape& shape,
                    const VariableOptions& options) {
  // Sessions share the variable under the node's full name, so it must be known beforehand.
  const std::string full = g.nodes().UniqueName(StrCat(g.state().name_scope, name));
  const VariableOpOptions node = {.name = std::string(WithoutScope(g, full)),
                                  .container = options.container,
                                  .shared_name = full};
  handle_ =
      options.use_resource ? VarHandleOp(g, dtype, shape, node) : VariableV2(g, dtype, shape, node);
  g.AddToCollection(options.local ? kLocalVariables : kGlobalVariables, handle_);
  if (options.trainable) g.AddToCollection(kTrainableVariables, handle_);
}

void Variable::AddInitializer(const Input& initial_value) const {
  const ColocateWith colocated(graph(), handle_.op());
  const bool reference = IsReference(handle_);
  OpBuilder(reference ? "Assign" : "AssignVariableOp")
      .Name(StrCat(WithoutScope(graph(), name()), "/Assign"))
      .Arg(handle_)
      .Arg(initial_value)
      .Attr(reference ? "T" : "dtype", dtype())
      .Build();
}

const std::string& Variable::name() const { return handle_.node()->name(); }
DType Variable::dtype() const { return VariableDType(handle_); }
PartialShape Variable::shape() const {
  return IsReference(handle_) ? handle_.shape()
                              : handle_.node()->output(handle_.index()).handle->shape;
}

Output Variable::read() const {
  const ColocateWith colocated(graph(), handle_.op());
  return ReadVariableOp(handle_);
}

Output Variable::Gather(const Input& indices) const {
  const ColocateWith colocated(graph(), handle_.op());
  if (!IsReference(handle_)) return ResourceGather(handle_, indices);
  return OpBuilder("GatherV2").Arg(handle_).Arg(indices).Arg(0);
}

// What changes or asks about a variable runs where it is, whatever device scopes are open.

Output Variable::IsInitialized() const {
  const ColocateWith colocated(graph(), handle_.op());
  return IsVariableInitialized(handle_);
}

Operation Variable::Assign(const Input& value) const {
  const ColocateWith colocated(graph(), handle_.op());
  return carillon::Assign(handle_, value);
}
Operation Variable::AssignAdd(const Input& value) const {
  const ColocateWith colocated(graph(), handle_.op());
  return carillon::AssignAdd(handle_, value);
}
Operation Variable::AssignSub(const Input& value) const {
  const ColocateWith colocated(graph(), handle_.op());
  return carillon::AssignSub(handle_, value);
}

Operation Variable::initializer() const { return graph().FindOperation(StrCat(name(), "/Assign")); }
Output Variable::initial_value() const { return initializer().input(1); }

std::vector<Variable> GlobalVariables(const Graph& g) { return VariablesOf(g, kGlobalVariables); }
std::vector<Variable> LocalVariables(const Graph& g) { return VariablesOf(g, kLocalVariables); }
std::vector<Variable> TrainableVariables(const Graph& g) {
  return VariablesOf(g, kTrainableVariables);
}

Operation VariablesInitializer(Graph& g, const std::vector<Variable>& variables,
                               std::string_view name) {
  const Outside outside(g);
  OpBuilder builder(g, "NoOp");
  builder.Name(name);
  for (const Variable& variable : variables) builder.After(variable.initializer());
  return builder.Build();
}
Operation GlobalVariablesInitializer(Graph& g) {
  return VariablesInitializer(g, GlobalVariables(g), "init");
}
Operation LocalVariablesInitializer(Graph& g) {
  return VariablesInitializer(g, LocalVariables(g), "init_local");
}

Variable GlobalStep(Graph& g) {
  const std::vector<Output> known = g.Collection(kGlobalStep);
  if (!known.empty()) return Variable(known.front());
  const NameScope outermost(g, "/");
  const Variable step(g, "global_step", Tensor::Scalar<int64_t>(0), {.trainable = false});
  g.AddToCollection(kGlobalStep, step.handle());
  return step;
}

}  // namespace carillon
