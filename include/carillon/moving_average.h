// ExponentialMovingAverage: smoothed copies of variables, for evaluation.
//
//   ExponentialMovingAverage averages(0.999);
//   Operation train = Adam(1e-3).Minimize(loss, step);
//   Operation step_and_average;
//   {
//     const ControlDependencies after(g, {train});
//     step_and_average = averages.Apply(TrainableVariables(g));
//   }
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "carillon/graph.h"
#include "carillon/variable.h"

namespace carillon {

// An op that moves `average` towards `value`: average -= (1 - decay) * (average - value).
Operation AssignMovingAverage(const Variable& average, const Input& value, const Input& decay);

class ExponentialMovingAverage {
 public:
  struct Options {
    // How often Apply's op has run (the global step, say). If given, the decay is at most
    // (1 + num_updates) / (10 + num_updates), so that averages follow fast at first.
    Output num_updates;
    // Averages of tensors, which begin at zero, are corrected for it.
    bool zero_debias = false;
    std::string name = "ExponentialMovingAverage";
  };
  explicit ExponentialMovingAverage(const Input& decay)
      : ExponentialMovingAverage(decay, Options()) {}
  ExponentialMovingAverage(const Input& decay, const Options& options);

  // An op that updates the averages of all. The average of a variable,
  // "w/ExponentialMovingAverage", begins as its initial value; that of another tensor begins as
  // zero. Throws Error(AlreadyExists) when one of them is averaged already.
  Operation Apply(const std::vector<Variable>& variables);
  Operation Apply(const std::vector<Output>& tensors);

  // Throws Error(NotFound) when there is none.
  Variable average(const Variable& variable) const { return average(variable.handle()); }
  Variable average(const Output& tensor) const;

 private:
  // A new average of what `key` stands for.
  Variable Add(const Output& key, const std::string& name, const Output& initial_value,
               bool resource);
  // The decay, as num_updates has it.
  Output Decay(Graph& graph) const;

  Input decay_;
  Options options_;
  std::map<std::pair<Node*, int>, Variable> averages_;
};

}  // namespace carillon
