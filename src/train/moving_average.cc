#include "carillon/moving_average.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/initializers.h"
#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"
#include "train/variable_kind.h"

namespace carillon {
namespace {

// A zero as large as `tensor`, whose shape is known.
Output ZerosFor(const Output& tensor) {
  Shape shape;
  tensor.shape().AsShape(&shape);
  return init::Zeros()(tensor.graph(), shape, tensor.dtype());
}

// The value when `before` has run.
Output ReadAfter(const Operation& before, const Variable& variable) {
  const ControlDependencies after(variable.graph(), {before});
  return variable.read();
}

// average = biased / (1 - decay ^ updates), where `biased` is the plain average, which began at
// zero, and `updates` counts.
Operation AssignDebiasedAverage(const Variable& average, const Output& value, const Output& decay) {
  Graph& graph = average.graph();
  const VariableOptions options{.trainable = false, .use_resource = IsResource(average)};
  const auto make = [&](const char* name, const Output& initial_value) {
    const NameScope inside(graph, StrCat(average.name(), "/"));
    const ColocateWith placed(graph, average.handle().op());
    return Variable(graph, name, initial_value, options);
  };
  const Variable biased = make("biased", average.initial_value());
  const Variable updates = make("local_step", Const(graph, Tensor::Scalar(0.0f)));
  const Output moved = ReadAfter(AssignMovingAverage(biased, value, decay), biased);
  const Output count = ReadAfter(updates.AssignAdd(1.0f), updates);
  return average.Assign(moved / Cast(1 - Pow(decay, count), average.dtype()));
}

}  // namespace

Operation AssignMovingAverage(const Variable& average, const Input& value, const Input& decay) {
  Graph& graph = average.graph();
  const NameScope scope(graph, "AssignMovingAvg");
  const ColocateWith placed(graph, average.handle().op());
  const Output kept = decay.is_output() ? decay.output() : Const(graph, decay.value(), "decay");
  return average.AssignSub((average.read() - value) * Cast(1 - kept, average.dtype()));
}

ExponentialMovingAverage::ExponentialMovingAverage(const Input& decay, const Options& options)
    : decay_(decay), options_(options) {}

Variable ExponentialMovingAverage::average(const Output& tensor) const {
  const auto found = averages_.find({tensor.node(), tensor.index()});
  if (found == averages_.end()) {
    Throw(NotFound("'", tensor.name(), "' has no moving average: Apply() was not called for it"));
  }
  return found->second;
}

Operation ExponentialMovingAverage::Apply(const std::vector<Variable>& variables) {
  if (variables.empty()) Throw(InvalidArgument("there is no variable to average"));
  Graph& graph = variables.front().graph();
  std::vector<Operation> updates;
  {
    const NameScope scope(graph, options_.name);
    const Output decay = Decay(graph);
    for (const Variable& variable : variables) {
      const Variable made =
          Add(variable.handle(), variable.name(), variable.initial_value(), IsResource(variable));
      updates.push_back(AssignMovingAverage(made, variable.read(), decay));
    }
  }
  return Group(graph, updates, options_.name);
}

Operation ExponentialMovingAverage::Apply(const std::vector<Output>& tensors) {
  if (tensors.empty()) Throw(InvalidArgument("there is no tensor to average"));
  Graph& graph = tensors.front().graph();
  std::vector<Operation> updates;
  {
    const NameScope scope(graph, options_.name);
    const Output decay = Decay(graph);
    for (const Output& tensor : tensors) {
      if (!tensor.shape().IsFullyKnown()) {
        Throw(InvalidArgument("'", tensor.name(), "' has the shape ", tensor.shape().ToString(),
                              ": its moving average needs one that is fully known"));
      }
      const Variable made = Add(tensor, tensor.op().name(), ZerosFor(tensor), true);
      updates.push_back(options_.zero_debias ? AssignDebiasedAverage(made, tensor, decay)
                                             : AssignMovingAverage(made, tensor, decay));
    }
  }
  return Group(graph, updates, options_.name);
}

Variable ExponentialMovingAverage::Add(const Output& key, const std::string& name,
                                       const Output& initial_value, bool resource) {
  if (!IsFloating(initial_value.dtype())) {
    Throw(InvalidArgument("'", name, "' is ", DTypeName(initial_value.dtype()),
                          ": only floating-point values have moving averages"));
  }
  const std::pair place(key.node(), key.index());
  if (averages_.contains(place)) Throw(AlreadyExists("'", name, "' has a moving average already"));
  Graph& graph = key.graph();
  const NameScope scope(graph, StrCat(name, "/"));
  const ColocateWith placed(graph, key.op());
  const Variable average(graph, options_.name, initial_value,
                         {.trainable = false, .use_resource = resource});
  averages_.emplace(place, average);
  return average;
}

Output ExponentialMovingAverage::Decay(Graph& graph) const {
  const Output decay =
      Cast(decay_.is_output() ? decay_.output() : Const(graph, decay_.value(), "decay"), kFloat);
  if (!options_.num_updates.valid()) return decay;
  const Output updates = Cast(options_.num_updates, kFloat);
  return Minimum(decay, (1 + updates) / (10 + updates));
}

}  // namespace carillon
